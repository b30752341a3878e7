// The agreement's timeouts, and what it hears from links.
#include <algorithm>

#include "veche/comm/grid/run/agreement.h"

namespace veche::grid {
namespace {

constexpr Time kMadeAgain{0.25};    // a link that is made again within this time was not down
constexpr Time kMostTimeout{120};   // whatever other members ask for
constexpr double kRoundTrips = 20;  // enough to make a link and to agree

}  // namespace

void Agreement::stopped_after(Time took) {
  const MutexLock lock(mutex_);
  round_timeout_.measured(took, 0);
}

Time Agreement::to_stop() const {
  const MutexLock lock(mutex_);
  return round_timeout_.deadline(0);
}

void Agreement::needs(const MemberId& from, Time to_stop) {
  if (!is_seated(from)) return;
  needs_[from] = std::clamp(to_stop, kLeastTimeout, kMostTimeout);
  follow_measurements();
}

// The time of the slowest member of the view, and of the slowest link.
void Agreement::follow_measurements() {
  Time longest = to_stop();
  for (const auto& [member, time] : needs_) longest = std::max(longest, time);
  longest = std::min(std::max<Time>(longest, kRoundTrips * own_.links->longest_round_trip()), kMostTimeout);
  membership_->set_timeout(longest);
  const MutexLock lock(mutex_);
  longest_timeout_ = longest;
}

void Agreement::set_timer() {
  const Time at = membership_->next_tick();
  if (at >= kForever || (timer_at_ > now() && timer_at_ <= at)) return;
  timer_at_ = at;
  own_.links->after(std::max(Time(0.001), at - now()), [this, at] {
    if (timer_at_ != at) return;  // an earlier one was set since
    timer_at_ = Time(-1);
    membership_->tick(now());
    act();
  });
}

void Agreement::believe_down(const MemberId& peer, Time after) {
  const auto found = closed_.find(peer);
  if (found == closed_.end() || now() < found->second + after) return;
  closed_.erase(found);
  membership_->link_down(peer, now());
  act();
}
void Agreement::word(const MemberId& from, const std::string& text) {
  membership_->received(from, as_bytes(text), now());
  act();
}
void Agreement::data(const MemberId& from, const DataHead& head, bool ended, Message message) {
  if (!router_.deliver(from, head, ended, std::move(message))) own_.links->close(from, "it is too far ahead");
}

void Agreement::up(const MemberId& peer) {
  closed_.erase(peer);
  membership_->link_up(peer, now());
  act();
}

void Agreement::down(const MemberId& peer, const std::string& why) {
  closed_[peer] = now();
  own_.links->after(kMadeAgain, [this, peer] { believe_down(peer, kMadeAgain); });
  if (is_seated(peer)) own_.say("the link to " + member_name(peer) + " is gone: " + why);
}

}  // namespace veche::grid
