#include <algorithm>

#include "veche/comm/grid/membership/state.h"

namespace veche::grid {

bool Membership::State::revoked(const MemberId& id) const {
  return present.membership.revoked.contains(id) || revocations.contains(id);
}

void Membership::State::ask(const std::vector<NodeStatus>& where, Time now) {
  if (in()) return;
  status = where;
  asking = true;
  said_ready = now - options.gather;
  for (const Member& member : present.membership.members)  // links may take a moment after a restart
    if (!peers.contains(member.id)) peers[member.id].missed_from = now + timeout;
  if (votes()) candidates[self.id] = {self, where, now, kForever};
  promise_if_frozen();  // a member that promised its vote can now take part too
}

void Membership::State::say_ready(Time now) {
  if (!asking) return;
  if (now >= said_ready + options.gather) {
    for (const auto& [id, peer] : peers)
      if (peer.up) send(id, Ready{self, *status});
    said_ready = now;
  }
  wake(said_ready + options.gather);
}

void Membership::State::on(const MemberId& from, const Ready& ready, ViewId, Time now) {
  const Peer& peer = peers[from];
  if (ready.member.id != from || ready.member.incarnation != peer.incarnation || ready.status.empty()) return;
  const auto seat = seat_of(from);
  if (seat && present.membership.members[*seat].incarnation >= ready.member.incarnation)
    return send(from, Install{present});  // it is in the view and does not know it
  if (ended) return send(from, Ended{*ended});
  if (!candidates.contains(from) && candidates.size() >= kMostMembers) return;
  const auto [at, fresh] = candidates.try_emplace(from);
  if (fresh || at->second.member.incarnation != ready.member.incarnation) at->second.asked = now;
  at->second.member = ready.member;
  at->second.status = ready.status;
  at->second.heard = now;
}

// A candidate that has not repeated its request has gone, or its link works only one way.
void Membership::State::forget_silent_candidates(Time now) {
  const Time most = std::max(timeout, 4 * options.gather);
  std::erase_if(candidates, [&](const auto& one) { return now > one.second.heard + most; });
}

void Membership::State::give_voucher(const MemberId& newcomer, const Invitation& invitation) {
  if (present.membership.admitted.contains(newcomer) || vouchers.size() >= kMostAdmitted) return;
  vouchers[newcomer] = {invitation, true};
  said_vouchers = Time(-1e9);
  refuse_spent();
}

void Membership::State::say_vouchers(Time now) {
  if (!in() || std::ranges::none_of(vouchers, [](const auto& one) { return one.second.own; })) return;
  if (now >= said_vouchers + options.gather) {
    for (const auto& [id, voucher] : vouchers)
      if (voucher.own) send_members(Vouch{id, voucher.invitation});
    said_vouchers = now;
  }
  wake(said_vouchers + options.gather);
}

void Membership::State::on(const MemberId& from, const Vouch& vouch, ViewId, Time) {
  if (!seat_of(from) || present.membership.admitted.contains(vouch.newcomer)) return;
  if (vouchers.contains(vouch.newcomer) || vouchers.size() >= kMostAdmitted) return;
  vouchers[vouch.newcomer] = {vouch.invitation, false};
}

namespace {

bool spent(const MembershipView& membership, const Invitation& invitation) {
  const auto used = membership.invitations_used.find(invitation.id);
  return !invitation.id.empty() &&
         (used == membership.invitations_used.end() ? 0 : used->second) >= invitation.uses;
}

}  // namespace

// Whether the next view may include the candidate, as far as known.
bool Membership::State::admissible(const Candidate& candidate) const {
  const MemberId& id = candidate.member.id;
  if (revoked(id)) return false;
  if (present.membership.admitted.contains(id)) return true;
  const auto voucher = vouchers.find(id);
  return voucher != vouchers.end() && !spent(present.membership, voucher->second.invitation);
}

// Only an agreed view determines that an invitation is spent; the vouching member tells the
// newcomer.
void Membership::State::refuse_spent() {
  for (auto at = vouchers.begin(); at != vouchers.end();) {
    const auto& [id, voucher] = *at;
    const bool refused =
        !present.membership.admitted.contains(id) && spent(present.membership, voucher.invitation);
    if (refused && voucher.own)
      send(id, Refused{"the invitation has been used as often as it may be: ask for a new one"});
    if (refused) candidates.erase(id);
    at = refused || present.membership.admitted.contains(id) ? vouchers.erase(at) : std::next(at);
  }
}

void Membership::State::on(const MemberId&, const Refused& refused, ViewId, Time) {
  if (!asking || votes()) return;
  asking = false;
  output.refused = refused.why;
}

void Membership::State::tell_end(std::uint64_t step) {
  ended = step;
  for (const auto& [id, candidate] : candidates)
    if (id != self.id) send(id, Ended{step});
  candidates.clear();
}

void Membership::State::on(const MemberId&, const Ended& told, ViewId, Time) {
  if (!asking) return;
  asking = false;
  candidates.erase(self.id);
  output.ended = told.step;
}

void Membership::State::spread(const MemberId& from, const Revoke& revoke) {
  if (revocations.contains(revoke.id) || revocations.size() >= kMostAdmitted) return;
  for (const auto& [id, peer] : peers)
    if (peer.up && id != from) send(id, revoke);
  revocations[revoke.id] = revoke.signed_bytes;
  candidates.erase(revoke.id);
  output.revoked.push_back({revoke.id, revoke.signed_bytes});
}

void Membership::State::on(const MemberId& from, const Revoke& revoke, ViewId, Time) {
  if (!revocations.contains(revoke.id) && options.genuine && options.genuine(revoke.id, revoke.signed_bytes))
    spread(from, revoke);
}

}  // namespace veche::grid
