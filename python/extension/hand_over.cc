#include "extension/hand_over.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "veche/collectives.h"
#include "veche/errors.h"
#include "veche/packed.h"

namespace veche::python {
namespace {

constexpr std::chrono::milliseconds kBetweenSignalChecks(100);
// Sleeping and waking up cost about as much as most waits for the other side. Where a step is so
// short that the last wait ended within the longer time, this one is worth polling for, too.
constexpr std::chrono::microseconds kPolling(50), kLongestPolling(500);
constexpr int kPausesPerYield = 16;
// The node is woken when so many floats are final; strategies send larger parts.
constexpr std::size_t kFloatsPerNotice = std::size_t{1} << 16;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// Polls after each wake-up, then sleeps. Returns at `until` at the latest, ready or not.
template <class Ready>
void HandOver::wait(std::unique_lock<std::mutex>& lock, bool& is_short, Ready ready,
                    Clock::time_point until) {
  const Clock::time_point start = Clock::now();
  const auto polling = is_short ? kLongestPolling : kPolling;
  poll_and_sleep(lock, polling, ready, until);
  is_short = Clock::now() - start < kLongestPolling;
}

template <class Ready>
void HandOver::poll_and_sleep(std::unique_lock<std::mutex>& lock, std::chrono::microseconds polling,
                              Ready ready, Clock::time_point until) {
  while (!ready()) {
    const Clock::time_point polls_until = Clock::now() + polling;
    while (!ready() && Clock::now() < polls_until) {
      const std::uint64_t seen = changes_.load(std::memory_order_relaxed);
      lock.unlock();
      while (changes_.load(std::memory_order_acquire) == seen && Clock::now() < polls_until) {
        for (int i = 0; i < kPausesPerYield; ++i) pause();
        std::this_thread::yield();
      }
      lock.lock();
    }
    if (ready()) return;
    if (until == Clock::time_point::max())
      changed_.wait(lock);
    else if (changed_.wait_until(lock, until) == std::cv_status::timeout)
      return;
  }
}

void HandOver::notify(std::unique_lock<std::mutex>& lock) {
  changes_.fetch_add(1, std::memory_order_release);
  lock.unlock();
  changed_.notify_all();
}

HandOver::Event HandOver::wait_for_node(bool only_end) {
  std::unique_lock lock(mutex_);
  const auto event = [&] {
    if (work_ != nullptr) return Event::work;
    if (run_ended_) return Event::run_ended;
    return !only_end && turn_ == Turn::loop ? Event::next_step : Event::none;
  };
  loop_waits_ = true;
  wait(
      lock, node_is_quick_, [&] { return event() != Event::none; }, Clock::now() + kBetweenSignalChecks);
  loop_waits_ = false;
  return event();
}

void HandOver::announce() {
  std::unique_lock lock(mutex_);
  notify(lock);
}

void HandOver::give(const Score& score, int optimizer) {
  std::unique_lock lock(mutex_);
  if (run_ended_) return;
  score_ = score;
  optimizer_ = optimizer;
  turn_ = Turn::node;
  notify(lock);
}

bool HandOver::do_in_loop(const std::function<void()>& call) {
  std::unique_lock lock(mutex_);
  if (!loop_waits_ || work_ != nullptr) return false;
  Work work{call};
  work_ = &work;
  notify(lock);
  lock.lock();
  wait(
      lock, work_is_quick_, [&] { return work.done; }, Clock::time_point::max());
  if (work.error) std::rethrow_exception(work.error);
  return true;
}

void HandOver::do_work() {
  Work& work = *work_;  // nobody else changes it while the loop does not wait
  try {
    work.call();
  } catch (...) {
    work.error = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  work.done = true;
  work_ = nullptr;
  notify(lock);
}

void HandOver::finish() {
  std::unique_lock lock(mutex_);
  finished_ = true;
  turn_ = Turn::node;
  notify(lock);
}

void HandOver::fail(std::string why) {
  std::unique_lock lock(mutex_);
  failure_ = std::move(why);
  finished_ = true;
  turn_ = Turn::node;
  notify(lock);
}

void HandOver::run_ended() {
  std::unique_lock lock(mutex_);
  run_ended_ = true;
  channel_ = nullptr;
  notify(lock);
}

void HandOver::ready(Channel& channel, std::uint64_t step) {
  // Loops that were written without Veche draw different initial models. A newcomer of a strategy
  // whose nodes keep their own pace begins at step 0 too, with the model of the others.
  const std::vector<Message> steps = all_gather(channel, channel.pool.copy_of_item(step));
  std::uint64_t most = 0;
  for (int node = 0; node < channel.size(); ++node)
    most = std::max(most, unpack_item<std::uint64_t>(steps[static_cast<std::size_t>(node)], NodeId{node},
                                                     "the steps of a node"));
  if (most == 0) {
    broadcast(channel, NodeId{0}, parameters_);
    if (!buffers_.empty()) broadcast(channel, NodeId{0}, buffers_);
  }
  const std::lock_guard lock(mutex_);
  channel_ = &channel;
  steps_ = step;
  steps_is_before_ = false;
}

bool HandOver::next(std::uint64_t step) {
  std::unique_lock lock(mutex_);
  steps_ = step;
  steps_is_before_ = false;
  begun_ = false;
  reported_.clear();
  noticed_ = since_notice_ = reported_floats_ = 0;
  if (!finished_) {
    turn_ = Turn::loop;
    notify(lock);
    lock.lock();
    wait(
        lock, gradient_is_quick_, [&] { return turn_ == Turn::node || noticed_ > 0; },
        Clock::time_point::max());
  }
  if (failure_) throw RunError(*failure_);
  begun_ = noticed_ > 0;
  steps_is_before_ = begun_ || !finished_;
  return steps_is_before_;
}

void HandOver::report(std::size_t from, std::size_t to) {
  std::unique_lock lock(mutex_);
  if (turn_ != Turn::loop || run_ended_) return;
  reported_.push_back({from, to});
  reported_floats_ += to - from;
  since_notice_ += to - from;
  if (since_notice_ < kFloatsPerNotice && reported_floats_ < parameters_.size()) return;
  since_notice_ = 0;
  noticed_ = reported_.size();
  notify(lock);
}

void HandOver::on_gradient_ready(GradientListener listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  listens_ = static_cast<bool>(listener_);
}

void HandOver::agree_on_optimizer(Channel& channel, bool active) {
  constexpr int kNone = -1;
  const std::vector<Message> all =
      all_gather(channel, channel.pool.copy_of_item(active ? optimizer() : kNone));
  int first = 0, agreed = kNone;
  for (int node = 0; node < channel.size(); ++node) {
    const int theirs = unpack_item<int>(all[static_cast<std::size_t>(node)], NodeId{node},
                                        "the number of the optimizer that makes a step");
    if (theirs == kNone) continue;
    if (agreed != kNone && theirs != agreed)
      throw RunError("optimizer " + std::to_string(agreed) + " makes step " + std::to_string(steps() + 1) +
                     " on node " + std::to_string(first) + " and optimizer " + std::to_string(theirs) +
                     " on node " + std::to_string(node) + ": all nodes must step them in the same order");
    if (agreed == kNone) first = node;
    agreed = theirs;
  }
  const std::lock_guard lock(mutex_);
  if (agreed != kNone) optimizer_ = agreed;
}

Score HandOver::complete_gradient() {
  std::unique_lock lock(mutex_);
  for (std::size_t told = 0; begun_;) {
    wait(
        lock, gradient_is_quick_, [&] { return turn_ == Turn::node || noticed_ > told; },
        Clock::time_point::max());
    if (failure_) throw RunError(*failure_);
    const bool whole = turn_ == Turn::node;
    const std::vector<Part> parts(reported_.begin() + static_cast<std::ptrdiff_t>(told), reported_.end());
    told = reported_.size();
    if (whole && finished_) clear_unreported();
    lock.unlock();
    if (listener_)
      for (const Part& part : parts) listener_(part.from, part.to);
    lock.lock();
    if (whole) break;
  }
  return score_;
}

// The loop has ended within its backward pass. Other nodes wait for what is missing.
void HandOver::clear_unreported() {
  std::vector<Part> parts = reported_;
  parts.push_back({gradients_.size(), gradients_.size()});
  std::ranges::sort(parts, {}, &Part::from);
  std::size_t at = 0;
  for (const Part& part : parts) {
    std::fill(gradients_.begin() + static_cast<std::ptrdiff_t>(at),
              gradients_.begin() + static_cast<std::ptrdiff_t>(part.from), 0.0F);
    at = part.to;
  }
}

// Not after a failure: the step was made.
void HandOver::end() {
  const std::lock_guard lock(mutex_);
  if (steps_is_before_) ++steps_;
  steps_is_before_ = false;
}

bool HandOver::listens() const {
  const std::lock_guard lock(mutex_);
  return listens_;
}

bool HandOver::step_has_begun() const {
  const std::lock_guard lock(mutex_);
  return noticed_ > 0;
}

Channel* HandOver::channel() {
  const std::lock_guard lock(mutex_);
  return channel_;
}

std::uint64_t HandOver::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

int HandOver::optimizer() const {
  const std::lock_guard lock(mutex_);
  return optimizer_;
}

}  // namespace veche::python
