#include "veche/comm/grid/membership/membership.h"

#include <utility>

#include "veche/comm/grid/membership/state.h"

namespace veche::grid {

Membership::Membership(std::uint64_t run, Member self, Bytes stored, MembershipOptions options,
                       std::uint64_t seed)
    : state_(std::make_unique<State>(run, std::move(self), stored, std::move(options), seed)) {}
Membership::~Membership() = default;
Membership::Membership(Membership&&) noexcept = default;

void Membership::found(const std::vector<NodeStatus>& status, Time now) {
  AgreedView view;
  view.membership.run = state_->run;
  view.membership.number = 1;
  view.membership.members = {state_->self};
  view.membership.admitted = {state_->self.id};
  view.statuses = {status};
  note_first_step(view);
  state_->install(view, now);
  state_->settle(now);
}

void Membership::ready(const std::vector<NodeStatus>& status, Time now) {
  state_->ask(status, now);
  state_->settle(now);
}

void Membership::vouch(const MemberId& newcomer, const Invitation& invitation, Time now) {
  state_->give_voucher(newcomer, invitation);
  state_->settle(now);
}

void Membership::link_up(const MemberId& peer, Time now) {
  state_->greet(peer, now);
  state_->settle(now);
}

void Membership::link_down(const MemberId& peer, Time now) {
  state_->miss(peer, now);
  state_->settle(now);
}

void Membership::received(const MemberId& from, std::span<const std::uint8_t> bytes, Time now) {
  const std::optional<MembershipMessage> message = parse_membership_message(bytes);
  if (!message || from == state_->self.id) return;
  state_->take_in(from, *message, now);
  state_->settle(now);
}

void Membership::tick(Time now) { state_->settle(now); }

void Membership::frozen(const std::vector<NodeStatus>& status, Time now) {
  if (state_->in()) {
    state_->status = status;
    state_->promise_if_frozen();
  }
  state_->settle(now);
}

void Membership::end(std::uint64_t step, Time now) {
  state_->tell_end(step);
  state_->settle(now);
}

void Membership::leave(Time now) {
  if (state_->in()) {
    state_->leaving = true;
  } else {
    state_->asking = false;
    state_->output.removed = true;
  }
  state_->settle(now);
}

void Membership::revoke(const MemberId& id, Bytes signed_bytes, Time now) {
  state_->spread(self().id, Revoke{id, std::move(signed_bytes)});
  state_->settle(now);
}

void Membership::force(Time now) {
  state_->forced = true;
  state_->settle(now);
}

void Membership::set_timeout(Time timeout) { state_->timeout = timeout; }

void Membership::describe(std::vector<std::string> addresses, double speed) {
  state_->self.addresses = std::move(addresses);
  state_->self.speed = speed;
}

Membership::Output Membership::take() {
  Output output = std::exchange(state_->output, {});
  if (std::exchange(state_->dirty, false)) output.persist = encode(state_->durable());
  return output;
}

Time Membership::next_tick() const { return state_->next; }
bool Membership::cut_off() const { return state_->cut_off; }
bool Membership::in() const { return state_->in(); }
bool Membership::others_stay() const { return state_->others_stay(); }
const Member& Membership::self() const { return state_->self; }
const MembershipView& Membership::present() const { return state_->present.membership; }

}  // namespace veche::grid
