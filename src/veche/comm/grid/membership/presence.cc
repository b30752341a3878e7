#include <algorithm>

#include "veche/comm/grid/membership/state.h"

namespace veche::grid {

bool Membership::State::quorum(const std::set<Seat>& members) const {
  const std::size_t twice = 2 * members.size();
  return twice > seats() || (twice == seats() && members.contains(0));
}

bool Membership::State::missed(Seat seat, Time now) const {
  const MemberId& id = present.membership.members[seat].id;
  const auto peer = peers.find(id);
  return id != self.id && peer != peers.end() && !peer->second.up && now >= peer->second.missed_from;
}

bool Membership::State::superseded(Seat seat) const {
  const Member& member = present.membership.members[seat];
  if (member.id == self.id) return self.incarnation > member.incarnation;
  const auto peer = peers.find(member.id);
  return peer != peers.end() && peer->second.incarnation > member.incarnation;
}

bool Membership::State::quorum_linked(Time now) const {
  std::set<Seat> linked;
  for (Seat seat = 0; seat < seats(); ++seat)
    if (!missed(seat, now)) linked.insert(seat);
  return quorum(linked);
}

void Membership::State::greet(const MemberId& id, Time now) {
  Peer& peer = peers[id];
  peer.up = true;
  peer.elsewhere = false;
  if (id == self.id || revoked(id)) return;
  if (present.membership.number > 0) send(id, observation(now));
  for (const auto& [whom, signed_bytes] : revocations) send(id, Revoke{whom, signed_bytes});
  if (asking) send(id, Ready{self, *status});
  for (const auto& [whom, voucher] : vouchers)
    if (voucher.own) send(id, Vouch{whom, voucher.invitation});
  if (proposal && seat_of(id)) proposal->said = now - options.retry;  // repeat at once
}

void Membership::State::miss(const MemberId& id, Time now) {
  Peer& peer = peers[id];
  peer.up = false;
  peer.missed_from = now;
  candidates.erase(id);
  // The proposer is gone: the next member proposes at once.
  if (promised.round > 0 && promised.seat < seats() && present.membership.members[promised.seat].id == id)
    propose_at.reset();
}

void Membership::State::update_presence(Time now) {
  if (seats() == 0) return;
  if (in()) {
    std::vector<Missed>& own = reported[*seat_of(self.id)];
    std::vector<Missed> seen;
    for (Seat seat = 0; seat < seats(); ++seat) {
      if (!missed(seat, now)) continue;
      const auto before = std::ranges::lower_bound(own, seat, {}, &Missed::seat);
      seen.push_back({seat, before != own.end() && before->seat == seat ? before->since : now});
    }
    own = std::move(seen);
  }
  for (const Member& member : present.membership.members)
    if (const auto peer = peers.find(member.id);
        peer != peers.end() && !peer->second.up && peer->second.missed_from > now)
      wake(peer->second.missed_from);
  std::vector<bool> known(seats());
  for (Seat seat = 0; seat < seats(); ++seat) {
    const auto peer = peers.find(present.membership.members[seat].id);
    known[seat] = superseded(seat) || revoked(present.membership.members[seat].id) ||
                  (peer != peers.end() && peer->second.elsewhere);
  }
  lost = believed_lost(std::move(known), reported, now, timeout);
  for (Seat by = 0; by < seats(); ++by)
    for (const Missed& one : reported[by])
      if (!lost[by] && !lost[one.seat]) wake(one.since + timeout);
  const bool before = std::exchange(cut_off, votes() && !quorum_linked(now));
  if (cut_off && !before) cut_off_since = now;
  if (cut_off) freeze();
}

// Observers report a missed member at once; others only if that had no effect.
Observation Membership::State::observation(Time now) {
  Observation said;
  if (in()) {
    said.stopped = status.has_value() && promised.round == 0;
    said.leaving = leaving;
    const Seat seat = *seat_of(self.id);
    std::vector<bool> absent(seats());
    for (const Missed& one : reported[seat]) absent[one.seat] = true;
    for (const Missed& one : reported[seat]) {
      const auto watching = observers_of(one.seat, absent);
      if (std::ranges::find(watching, seat) != watching.end() || now >= one.since + timeout / 2)
        said.missed.push_back(one.seat);
      else
        wake(one.since + timeout / 2);
    }
  }
  const bool same = said.stopped == last_observation.stopped && said.leaving == last_observation.leaving &&
                    said.missed == last_observation.missed;
  said.sequence = last_observation.sequence + (same ? 0 : 1);
  return said;
}

void Membership::State::send_observation(Time now) {
  if (!in() || seats() < 2) return;
  Observation said = observation(now);
  if (said.sequence != last_observation.sequence) {
    last_observation = std::move(said);
    observation_changed = now;
  } else {
    const bool quiet = !said.stopped && !said.leaving && said.missed.empty();
    if (quiet && now >= observation_changed + timeout) return;  // retractions are repeated for a while
    if (now < sent_observation + options.retry) return wake(sent_observation + options.retry);
  }
  sent_observation = now;
  send_members(last_observation);
  if (cut_off)  // another member may know that views have continued
    for (const auto& [id, peer] : peers)
      if (peer.up && !seat_of(id)) send(id, last_observation);
  wake(now + options.retry);
}

// Occasionally shows the known view to some other peer: a member that missed newer views, and
// misses no member, learns of them from the answer.
void Membership::State::say_view(Time now) {
  if (present.membership.number == 0) return;
  if (now >= said_view + timeout) {
    std::vector<MemberId> up;
    for (const auto& [id, peer] : peers)
      if (peer.up && id != self.id) up.push_back(id);
    if (up.empty()) return;
    said_view = now;
    send(up[random.below(up.size())], observation(now));
  }
  wake(said_view + timeout);
}

void Membership::State::on(const MemberId& from, const Observation& observation, ViewId present_there,
                           Time now) {
  const auto seat = seat_of(from);
  if (present_there != present_id() || !seat || superseded(*seat)) return;
  if (!observation.missed.empty() && observation.missed.back() >= seats()) return;
  Report& report = reports[*seat];
  if (report.heard && observation.sequence <= report.sequence) return;
  report = {observation.sequence, observation.stopped, observation.leaving, true};
  std::vector<Missed>& before = reported[*seat];
  std::vector<Missed> missing;
  for (const Seat one : observation.missed) {
    const auto at = std::ranges::lower_bound(before, one, {}, &Missed::seat);
    missing.push_back({one, at != before.end() && at->seat == one ? at->since : now});
  }
  before = std::move(missing);
}

}  // namespace veche::grid
