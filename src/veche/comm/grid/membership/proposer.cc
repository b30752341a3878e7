#include <algorithm>

#include "veche/comm/grid/membership/state.h"

namespace veche::grid {

bool Membership::State::change_wanted(Time now) {
  if (promised.round > 0) return true;
  if (in()) {
    if (status || leaving || std::ranges::find(lost, true) != lost.end()) return true;
    if (std::ranges::any_of(reports, [](const Report& one) { return one.stopped || one.leaving; }))
      return true;
  }
  bool due = false;
  for (const auto& [id, candidate] : candidates) {
    if (!admissible(candidate)) continue;
    due = due || now >= candidate.asked + options.gather;
    if (!due) wake(candidate.asked + options.gather);
  }
  return due;
}

// Whether this is the lowest seat that is reachable and will stay.
bool Membership::State::leads(Time now) const {
  for (Seat seat = 0; seat < seats(); ++seat) {
    const MemberId& id = present.membership.members[seat].id;
    if (id == self.id) return true;
    const bool gone = revoked(id) || reports[seat].leaving || (lost[seat] && !superseded(seat));
    if (!gone && !missed(seat, now)) return false;
  }
  return false;
}

void Membership::State::propose_when_due(Time now) {
  if (proposal) return;
  if (!votes() || leaving || !change_wanted(now) || !quorum_linked(now)) return propose_at.reset();
  if (!propose_at) propose_at = leads(now) ? now : now + takeover();
  if (now >= *propose_at)
    propose(now);
  else
    wake(*propose_at);
}

void Membership::State::propose(Time now) {
  highest_round = std::max(highest_round, promised.round) + 1;
  proposal.emplace();
  proposal->ballot = {highest_round, *voting_seat()};
  proposal->begun = now;
  proposal->said = now - options.retry;
  send(self.id, Prepare{next_id(), proposal->ballot});
}

void Membership::State::pursue(Time now) {
  if (!proposal) return;
  if (!quorum_linked(now)) return proposal.reset();
  if (now >= proposal->said + options.retry) {  // also shows the others that the proposer is alive
    proposal->said = now;
    if (proposal->view) {
      send_members(Accept{proposal->ballot, *proposal->view});
    } else {
      const Prepare prepare{next_id(), proposal->ballot};
      send_members(prepare);
      for (const auto& [id, candidate] : candidates)
        if (id != self.id && !seat_of(id) && admissible(candidate)) send(id, prepare);
    }
  }
  wake(proposal->said + options.retry);
  if (!proposal->view) finish_first_phase(now);
}

// Ends when every member of the next view has promised or timed out.
void Membership::State::finish_first_phase(Time now) {
  const auto& promises = proposal->promises;
  std::set<Seat> voters;
  const std::optional<AcceptedView>* newest = nullptr;
  for (const auto& [id, promise] : promises) {
    const auto seat = seat_of(id);
    if (!promise.vote || !seat) continue;
    voters.insert(*seat);
    if (promise.accepted && (newest == nullptr || promise.accepted->ballot > (*newest)->ballot))
      newest = &promise.accepted;
  }
  if (!quorum(voters)) return;
  if (newest != nullptr) {  // it may already have been decided
    proposal->view = (*newest)->view;
  } else {
    const auto here = [&](const Member& member) {
      const auto promise = promises.find(member.id);
      return promise != promises.end() && promise->second.member.incarnation == member.incarnation &&
             !promise->second.status.empty();
    };
    const Time members_until = proposal->begun + timeout;
    const Time newcomers_until = proposal->begun + 2 * options.retry;
    for (Seat seat = 0; seat < seats(); ++seat)
      if (!lost[seat] && !reports[seat].leaving && !here(present.membership.members[seat]) &&
          now < members_until)
        return wake(members_until);
    for (const auto& [id, candidate] : candidates)
      if (admissible(candidate) && !here(candidate.member) && now < newcomers_until)
        return wake(newcomers_until);
    AgreedView view = compose();
    if (view.membership.members.empty()) return;
    proposal->view = std::move(view);
  }
  proposal->said = now;
  const Accept accept{proposal->ballot, *proposal->view};
  send_members(accept);
  send(self.id, accept);
}

void note_first_step(AgreedView& view) {
  const NodeStatus* first = nullptr;
  for (const auto& status : view.statuses)
    for (const NodeStatus& one : status)
      if (first == nullptr || one.done_step > first->done_step) first = &one;
  if (first == nullptr) return;
  view.membership.first_step = first->done_step;
  view.membership.state_hash = first->state_hash;
}

AgreedView Membership::State::compose() const {
  AgreedView view;
  MembershipView& membership = view.membership;
  membership = present.membership;
  membership.number = present.membership.number + 1;
  membership.members.clear();
  for (const auto& [id, signed_bytes] : revocations)
    if (membership.revoked.size() < kMostAdmitted) membership.revoked.insert(id);
  const auto promise_of = [&](const Member& member) -> const Promise* {
    const auto at = proposal->promises.find(member.id);
    if (at == proposal->promises.end() || at->second.member.incarnation != member.incarnation) return nullptr;
    return at->second.status.empty() ? nullptr : &at->second;
  };
  const auto seat = [&](const Promise& promise) {
    membership.members.push_back(promise.member);
    view.statuses.push_back(promise.status);
  };
  for (Seat old = 0; old < seats(); ++old)
    if (!lost[old] && !reports[old].leaving)
      if (const Promise* promise = promise_of(present.membership.members[old])) seat(*promise);
  std::vector<const Candidate*> newcomers;
  for (const auto& [id, candidate] : candidates) newcomers.push_back(&candidate);
  std::ranges::stable_sort(newcomers, {}, &Candidate::asked);
  for (const Candidate* candidate : newcomers) {
    const MemberId& id = candidate->member.id;
    const Promise* promise = promise_of(candidate->member);
    if (promise == nullptr || !admissible(*candidate) || membership.members.size() >= kMostMembers) continue;
    if (std::ranges::find(membership.members, id, &Member::id) != membership.members.end()) continue;
    if (!membership.admitted.contains(id)) {
      const Invitation& invitation = vouchers.at(id).invitation;
      if (membership.admitted.size() >= kMostAdmitted) continue;
      if (!invitation.id.empty()) {
        if (!membership.invitations_used.contains(invitation.id) &&
            membership.invitations_used.size() >= kMostInvitations)
          continue;
        std::uint32_t& used = membership.invitations_used[invitation.id];
        if (used >= invitation.uses) continue;
        ++used;
      }
      membership.admitted.insert(id);
    }
    seat(*promise);
  }
  note_first_step(view);
  return view;
}

void Membership::State::on(const MemberId& from, const Promise& promise, ViewId, Time) {
  if (!proposal || proposal->view || promise.next != next_id() || promise.ballot != proposal->ballot) return;
  if (promise.member.id == from) proposal->promises.insert_or_assign(from, promise);
}

void Membership::State::on(const MemberId& from, const Accepted& yes, ViewId, Time now) {
  const auto seat = seat_of(from);
  if (!proposal || !proposal->view || yes.next != next_id() || yes.ballot != proposal->ballot || !seat)
    return;
  proposal->accepted.insert(*seat);
  if (!quorum(proposal->accepted)) return;
  const AgreedView decided = *proposal->view;
  announce(decided);
  install(decided, now);
}

void Membership::State::on(const MemberId&, const Outbid& outbid, ViewId, Time now) {
  if (outbid.next != next_id()) return;
  highest_round = std::max(highest_round, outbid.promised.round);
  if (!proposal || outbid.promised <= proposal->ballot) return;
  proposal.reset();
  propose_at = now + takeover();
}

}  // namespace veche::grid
