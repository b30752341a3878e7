#include "veche/comm/seeded/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace veche {
namespace {

constexpr Time kLongestCall{20e-6};

}  // namespace

void Scheduler::Turn::give() {
  const MutexLock lock(mutex_);
  here_ = true;
  given_.notify_one();
}

void Scheduler::Turn::await() {
  MutexLock lock(mutex_);
  given_.wait(mutex_, [this]() VECHE_REQUIRES(mutex_) { return here_; });
  here_ = false;
}

bool Scheduler::Turn::await_for(std::chrono::duration<double> limit) {
  MutexLock lock(mutex_);
  return given_.wait_for(mutex_, limit, [this]() VECHE_REQUIRES(mutex_) { return here_; });
}

Scheduler::Scheduler(std::uint64_t seed, Limits limits) : limits_(limits), random_(seed, "schedule") {}

std::size_t Scheduler::start(std::string name, std::function<void()> work) {
  auto made = std::make_unique<Task>();
  Task& task = *made;
  task.name = std::move(name);
  // Under some seeds a task rarely gets its turn, which exposes what others do meanwhile.
  task.weight = random_.below(4) == 0 ? 0.03 : 1;
  task.thread = std::jthread([this, &task, work = std::move(work)]() mutable {
    task.turn.await();
    if (given_up_.empty()) work();
    work = {};  // destroys its captures while the task still counts
    task.ended = true;
    hand_over();
  });
  tasks_.push_back(std::move(made));
  return tasks_.size() - 1;
}

void Scheduler::give_up(std::string why) {
  if (given_up_.empty()) given_up_ = std::move(why);
}

void Scheduler::run() {
  if (tasks_.empty()) return;
  hand_over();
  for (std::uint64_t heard = calls_; !all_ended_.await_for(limits_.silence); heard = calls_)
    if (heard == calls_) abort_in_silence();
  for (const auto& task : tasks_) task->thread.join();
}

Scheduler::Task& Scheduler::running() {
  Task* task = running_;
  if (task == nullptr || task->thread.get_id() != std::this_thread::get_id())
    throw std::logic_error(
        "an endpoint is used by a thread that is neither a node of a run nor a helper (Endpoint::spawn)");
  return *task;
}

void Scheduler::let_time_pass() {
  ++calls_;
  now_ = now_ + random_.uniform() * kLongestCall.count();
}

void Scheduler::pass() {
  running();
  let_time_pass();
  if (random_.below(2) == 0) hand_over();
}

void Scheduler::wait(const Wait& wait) {
  Task& me = running();
  let_time_pass();
  me.wait = &wait;
  hand_over();
  me.wait = nullptr;
}

void Scheduler::hand_over() {
  Task* const me = running_;
  Task* const next = choose();
  if (next == me) return;
  const bool comes_back = me != nullptr && !me->ended;
  running_ = next;
  (next == nullptr ? all_ended_ : next->turn).give();
  if (comes_back) me->turn.await();  // otherwise `me` must not be touched: the run may be over
}

Time Scheduler::due(const Task& task) const {
  return task.wait == nullptr || !given_up_.empty() ? Time(0) : task.wait->due();
}

// Time stands still while any task can continue, except for the cost of calls; then it jumps to the
// next due time.
Scheduler::Task* Scheduler::choose() {
  Time earliest = kForever;
  std::vector<Task*> ready;
  bool any = false;
  for (const auto& task : tasks_) {
    if (task->ended) continue;
    any = true;
    const Time when = due(*task);
    earliest = std::min(earliest, when);
    if (when <= now()) ready.push_back(task.get());
  }
  if (!any) return nullptr;
  if (ready.empty()) {
    if (earliest - now() > limits_.jump)
      give_up(fmt::format("no node can continue, {:.6f} s after the start: {}", now().count(), who_waits()));
    else
      now_ = earliest.count();
    return choose();
  }
  if (now() > limits_.length && given_up_.empty())
    give_up(fmt::format("the run does not end within {} s: {}", limits_.length.count(), who_waits()));
  return &by_weight(ready);
}

Scheduler::Task& Scheduler::by_weight(const std::vector<Task*>& ready) {
  double all = 0;
  for (const Task* task : ready) all += task->weight;
  double drawn = random_.uniform() * all;
  for (Task* task : ready)
    if ((drawn -= task->weight) < 0) return *task;
  return *ready.back();
}

std::string Scheduler::who_waits() const {
  std::string all;
  for (const auto& task : tasks_)
    if (!task->ended)
      all += (all.empty() ? "" : "; ") + task->name +
             (task->wait == nullptr ? " could go on" : " waits for " + task->wait->what());
  return all;
}

// A thread blocked by a mutex cannot be ended; only the process can.
void Scheduler::abort_in_silence() {
  const Task* const task = running_;
  fmt::print(stderr,
             "{} made no call for {} s: it computes, or waits for a mutex that another task holds across a "
             "wait; of the others, {}\n",
             task == nullptr ? "no task" : task->name, limits_.silence.count(), who_waits());
  std::abort();
}

}  // namespace veche
