#include "veche/comm/grid/membership/state.h"

#include <algorithm>

#include "veche/errors.h"

namespace veche::grid {

Membership::State::State(std::uint64_t run_, Member self_, const Bytes& stored, MembershipOptions options_,
                         std::uint64_t seed)
    : run(run_),
      self(std::move(self_)),
      options(std::move(options_)),
      timeout(options.timeout),
      random(seed, "membership") {
  self.incarnation = std::max<std::uint64_t>(self.incarnation, 1);
  if (!stored.empty()) {
    std::optional<StoredMembership> kept = parse_stored_membership(stored);
    if (!kept) throw RequestError("the stored membership state is damaged: rejoin without it");
    if (kept->run != run) throw RequestError("the stored membership state belongs to another run");
    self.incarnation = std::max(self.incarnation, kept->incarnation + 1);
    since = kept->since;
    present = std::move(kept->present);
    promised = kept->promised;
    accepted = std::move(kept->accepted);
  } else {
    since = self.incarnation;
  }
  reports.resize(seats());
  reported.resize(seats());
  lost.resize(seats());
}

StoredMembership Membership::State::durable() const {
  return {run, self.incarnation, since, present, promised, accepted};
}

std::optional<Membership::State::Seat> Membership::State::seat_of(const MemberId& id) const {
  const auto at = std::ranges::find(present.membership.members, id, &Member::id);
  if (at == present.membership.members.end()) return std::nullopt;
  return static_cast<Seat>(at - present.membership.members.begin());
}

bool Membership::State::in() const {
  const auto seat = seat_of(self.id);
  return seat && present.membership.members[*seat].incarnation == self.incarnation;
}

// An earlier incarnation's vote belongs to this one if it remembers the promises.
std::optional<Membership::State::Seat> Membership::State::voting_seat() const {
  const auto seat = seat_of(self.id);
  return seat && present.membership.members[*seat].incarnation >= since ? seat : std::nullopt;
}

bool Membership::State::votes() const { return voting_seat().has_value(); }

void Membership::State::settle(Time now) {
  do {
    while (!inbox.empty()) {
      const MembershipMessage message = std::move(inbox.front());
      inbox.pop_front();
      take_in(self.id, message, now);
    }
    act(now);
  } while (!inbox.empty());
}

void Membership::State::act(Time now) {
  next = kForever;
  forget_silent_candidates(now);
  update_presence(now);
  leave_if_alone();
  propose_when_due(now);
  pursue(now);
  split_when_due(now);
  send_observation(now);
  say_view(now);
  say_ready(now);
  say_vouchers(now);
}

void Membership::State::send(const MemberId& to, Body body) {
  MembershipMessage message{run, present_id(), self.incarnation, std::move(body)};
  if (to == self.id) {
    inbox.push_back(std::move(message));
  } else {
    output.messages.push_back({to, encode(message)});
  }
}

void Membership::State::send_members(const Body& body) {
  const Bytes bytes = encode(MembershipMessage{run, present_id(), self.incarnation, body});
  for (const Member& member : present.membership.members)
    if (member.id != self.id) output.messages.push_back({member.id, bytes});
}

void Membership::State::take_in(const MemberId& from, const MembershipMessage& message, Time now) {
  if (message.run != run || revoked(from)) return;
  if (from != self.id) {
    Peer& peer = peers[from];
    if (message.incarnation < peer.incarnation) return;  // from an earlier life
    peer.incarnation = message.incarnation;
    compare_views(from, peer, message.present, now);
  }
  std::visit([&](const auto& body) { on(from, body, message.present, now); }, message.body);
}

}  // namespace veche::grid
