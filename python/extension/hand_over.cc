#include "extension/hand_over.h"

#include <algorithm>

#include "veche/collectives.h"
#include "veche/errors.h"
#include "veche/packed.h"

namespace veche::python {
namespace {

constexpr std::chrono::milliseconds kBetweenSignalChecks(100);

}  // namespace

std::optional<bool> HandOver::await_node() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kBetweenSignalChecks, [&] { return turn_ == Turn::loop || run_ended_; }))
    return {};
  return !run_ended_;
}

std::optional<bool> HandOver::await_end() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kBetweenSignalChecks, [&] { return run_ended_; })) return {};
  return true;
}

void HandOver::give(const Score& score) {
  {
    const std::lock_guard lock(mutex_);
    if (run_ended_) return;
    score_ = score;
    turn_ = Turn::node;
  }
  changed_.notify_all();
}

void HandOver::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    turn_ = Turn::node;
  }
  changed_.notify_all();
}

void HandOver::fail(std::string why) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(why);
    finished_ = true;
    turn_ = Turn::node;
  }
  changed_.notify_all();
}

void HandOver::run_ended() {
  {
    const std::lock_guard lock(mutex_);
    run_ended_ = true;
    channel_ = nullptr;
  }
  changed_.notify_all();
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
  if (!finished_) {
    turn_ = Turn::loop;
    changed_.notify_all();
    changed_.wait(lock, [&] { return turn_ == Turn::node; });
  }
  if (failure_) throw RunError(*failure_);
  steps_is_before_ = !finished_;
  return !finished_;
}

// Not after a failure: the step was made.
void HandOver::end() {
  const std::lock_guard lock(mutex_);
  if (steps_is_before_) ++steps_;
  steps_is_before_ = false;
}

Score HandOver::take_score() {
  const std::lock_guard lock(mutex_);
  return score_;
}

Channel* HandOver::channel() {
  const std::lock_guard lock(mutex_);
  return channel_;
}

std::uint64_t HandOver::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

}  // namespace veche::python
