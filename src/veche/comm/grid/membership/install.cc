#include <algorithm>

#include "veche/comm/grid/membership/state.h"

namespace veche::grid {

// Sends the newest view to a peer that is behind; tells a peer that is ahead that this member is
// behind.
void Membership::State::compare_views(const MemberId& from, Peer& peer, ViewId there, Time now) {
  const ViewId here = present_id();
  if (here.number == 0 || there == here) return;
  if (there.number > 0 && there.lineage != here.lineage) {
    const auto seat = seat_of(from);
    if (seat && !superseded(*seat)) peer.elsewhere = true;
    if (cut_off && in() && there.number > here.number)
      step_out();  // no member is left here: asks to be admitted there
    return;
  }
  if (now < peer.answered + options.retry) return;
  peer.answered = now;
  if (there.number < here.number)
    send(from, Install{present});
  else
    send(from, observation(now));
}

// Sends the view to its members and to the members it removes.
void Membership::State::announce(const AgreedView& view) {
  const Bytes bytes = encode(MembershipMessage{run, present_id(), self.incarnation, Install{view}});
  std::set<MemberId> told;
  for (const MembershipView* membership :
       {&view.membership, static_cast<const MembershipView*>(&present.membership)})
    for (const Member& member : membership->members)
      if (member.id != self.id && told.insert(member.id).second)
        output.messages.push_back({member.id, bytes});
}

void Membership::State::on(const MemberId&, const Install& message, ViewId, Time now) {
  const MembershipView& membership = message.view.membership;
  if (membership.run != run || membership.number == 0 || membership.members.empty()) return;
  const bool newer =
      membership.lineage == present.membership.lineage && membership.number > present.membership.number;
  const auto self_there = std::ranges::find(membership.members, self.id, &Member::id);
  const bool listed = self_there != membership.members.end() && self_there->incarnation == self.incarnation;
  const bool elsewhere = membership.lineage != present.membership.lineage && listed &&
                         ((asking && !in()) || following == membership.lineage);
  if (present.membership.number == 0 || newer || elsewhere) install(message.view, now);
}

void Membership::State::install(const AgreedView& view, Time now) {
  const bool was_in = in();
  std::set<MemberId> before;
  for (const Member& member : present.membership.members) before.insert(member.id);
  present = view;
  promised = {};
  accepted.reset();
  dirty = true;
  proposal.reset();
  propose_at.reset();
  forking.reset();
  highest_round = following = 0;
  forced = freeze_said = cut_off = false;
  reports.assign(seats(), {});
  reported.assign(seats(), {});
  lost.assign(seats(), false);
  for (const Member& member : present.membership.members) {
    Peer& peer = peers[member.id];
    peer.elsewhere = false;
    if (!peer.up && !before.contains(member.id)) peer.missed_from = now + timeout;
    const auto candidate = candidates.find(member.id);
    if (candidate != candidates.end() && candidate->second.member.incarnation <= member.incarnation)
      candidates.erase(candidate);
  }
  refuse_spent();
  output.freeze = false;
  if (in()) {
    asking = false;
    status.reset();
    output.installed = view;
    output.removed = false;
  } else {
    output.installed.reset();
    if (was_in) step_out();
    if (!votes()) candidates.erase(self.id);
  }
}

// Views continue without this member. If it returns, it does so with all its promises.
void Membership::State::step_out() {
  ++self.incarnation;
  dirty = true;
  status.reset();
  asking = leaving = freeze_said = cut_off = false;
  output.freeze = false;
  output.installed.reset();
  output.removed = true;
  proposal.reset();
  forking.reset();
  candidates.erase(self.id);
}

// Leaves if no other member stays to agree with.
void Membership::State::leave_if_alone() {
  if (!leaving || !in()) return;
  for (Seat seat = 0; seat < seats(); ++seat)
    if (present.membership.members[seat].id != self.id && !lost[seat] && !reports[seat].leaving) return;
  step_out();
}

bool Membership::State::others_stay() const {
  for (Seat seat = 0; seat < seats(); ++seat) {
    const auto peer = peers.find(present.membership.members[seat].id);
    if (peer != peers.end() && peer->first != self.id && peer->second.up && !lost[seat] &&
        !reports[seat].leaving)
      return true;
  }
  return false;
}

void Membership::State::split_when_due(Time now) {
  if (forking) return split(now);
  if (!votes() || !status) return;
  std::set<Seat> up;
  for (Seat seat = 0; seat < seats(); ++seat) {
    const auto peer = peers.find(present.membership.members[seat].id);
    if (present.membership.members[seat].id == self.id || (peer != peers.end() && peer->second.up))
      up.insert(seat);
  }
  if (forced && in() && quorum(up)) forced = false;  // not needed
  if (!forced) {
    if (!cut_off || options.fork_after <= Time(0)) return;
    if (now < cut_off_since + options.fork_after) return wake(cut_off_since + options.fork_after);
    if (!leads(now)) return;
  }
  std::uint64_t own = 0;
  for (std::size_t i = 0; i < sizeof(own); ++i) own = own << 8U | self.id.bytes[i];
  forking = Split{};
  // A random lineage: no other member, nor this one again, makes the same. So a lineage and number
  // identify one view.
  forking->lineage = RandomStream(random.next() ^ own, "lineage", self.incarnation).next();
  forking->begun = now;
  forking->said = now - options.retry;
  split(now);
}

void Membership::State::split(Time now) {
  bool waiting = false;
  for (const Member& member : present.membership.members) {
    const auto peer = peers.find(member.id);
    waiting = waiting || (member.id != self.id && peer != peers.end() && peer->second.up &&
                          !forking->follows.contains(member.id));
  }
  if (waiting && now < forking->begun + timeout) {
    if (now >= forking->said + options.retry) {
      forking->said = now;
      send_members(Fork{forking->lineage});
    }
    return wake(std::min(forking->said + options.retry, forking->begun + timeout));
  }
  AgreedView view;
  view.membership = present.membership;
  view.membership.lineage = forking->lineage;
  ++view.membership.number;
  view.membership.members.clear();
  for (const Member& member : present.membership.members) {
    const auto follow = forking->follows.find(member.id);
    if (member.id != self.id && follow == forking->follows.end()) continue;
    view.membership.members.push_back(member.id == self.id ? self : follow->second.member);
    view.statuses.push_back(member.id == self.id ? *status : follow->second.status);
  }
  note_first_step(view);
  announce(view);
  install(view, now);
}

void Membership::State::on(const MemberId& from, const Fork& fork, ViewId there, Time now) {
  const auto seat = seat_of(from);
  if (there != present_id() || !seat || !votes() || !status || fork.lineage == present.membership.lineage)
    return;
  if (!cut_off && quorum_linked(now) && in()) return;
  if (forking && *voting_seat() < *seat) return;  // follows this lineage
  forking.reset();
  following = fork.lineage;
  send(from, Follow{fork.lineage, self, *status});
}

void Membership::State::on(const MemberId& from, const Follow& follow, ViewId there, Time) {
  if (!forking || there != present_id() || follow.lineage != forking->lineage || follow.member.id != from ||
      follow.status.empty())
    return;
  forking->follows.insert_or_assign(from, follow);
}

}  // namespace veche::grid
