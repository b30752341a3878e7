#include "veche/comm/grid/membership/state.h"

namespace veche::grid {

void Membership::State::freeze() {
  if (!in() || status || freeze_said) return;
  output.freeze = freeze_said = true;
}

Time Membership::State::takeover() { return options.takeover * (1 + random.uniform()); }

void Membership::State::promise_if_frozen() {
  if (promised.round == 0 || promised.seat >= seats() || !votes() || (in() && !status)) return;
  send(present.membership.members[promised.seat].id,
       Promise{next_id(), promised, true, accepted, self, status.value_or(std::vector<NodeStatus>{})});
}

// Whether this ballot may proceed here; promises to lower ballots become void.
bool Membership::State::yield_to(const MemberId& from, const Ballot& ballot, Time now) {
  const auto seat = seat_of(from);
  if (!seat || *seat != ballot.seat || ballot.round == 0) return false;
  highest_round = std::max(highest_round, ballot.round);
  if (ballot < promised) {
    send(from, Outbid{next_id(), promised});
    return false;
  }
  if (ballot > promised) {
    promised = ballot;
    dirty = true;
  }
  if (proposal && proposal->ballot != ballot) proposal.reset();
  propose_at = now + takeover();
  freeze();
  return true;
}

void Membership::State::on(const MemberId& from, const Prepare& prepare, ViewId, Time now) {
  if (prepare.next == next_id() && votes()) {
    if (yield_to(from, prepare.ballot, now)) promise_if_frozen();
    return;
  }
  // A newcomer has no vote, but joins no view before it has reported its status.
  const bool old =
      prepare.next.lineage == present.membership.lineage && prepare.next.number <= present.membership.number;
  if (asking && !old) send(from, Promise{prepare.next, prepare.ballot, false, std::nullopt, self, *status});
}

void Membership::State::on(const MemberId& from, const Accept& accept, ViewId, Time now) {
  const ViewId next_view{accept.view.membership.lineage, accept.view.membership.number};
  if (next_view != next_id() || !votes() || !yield_to(from, accept.ballot, now)) return;
  if (!accepted || accepted->ballot != accept.ballot) {
    accepted = {accept.ballot, accept.view};
    dirty = true;
  }
  send(from, Accepted{next_id(), accept.ballot});
}

}  // namespace veche::grid
