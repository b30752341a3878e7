#include "veche/comm/slots.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <optional>

#include "veche/base/machine/cores.h"

namespace veche {
namespace {

// Thread-local, since a wait does not know about the computation around it.
thread_local Slots::Turn* turn_of_thread = nullptr;

// Empty if unknown.
cpu_set_t cores_of(pthread_t thread) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  pthread_getaffinity_np(thread, sizeof cores, &cores);
  return cores;
}

void allow(pthread_t thread, const cpu_set_t& cores) { pthread_setaffinity_np(thread, sizeof cores, &cores); }

// Moves the thread to a core until it is given back `cores`. Advice only: otherwise it runs where
// the kernel decides.
void move_to(int core, pthread_t thread, const cpu_set_t& cores) {
  if (core < 0 || core >= CPU_SETSIZE || !CPU_ISSET(static_cast<std::size_t>(core), &cores)) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(core), &only);
  allow(thread, only);
}

}  // namespace

struct Slots::Waiter {
  std::optional<std::size_t> slot;  // handed over by the node that leaves it
  ConditionVariable called;
  const pthread_t thread = pthread_self();
  const cpu_set_t cores = cores_of(thread);  // once it runs there, it may be moved again
};

Slots::Slots(int slots, int processes)
    : slots_(static_cast<std::size_t>(slots > 0 ? slots : usable_cores(processes))) {}

Slots::Turn::Turn(Slots& slots, std::uint64_t step) : slots_(slots), step_(step), slot_(slots.take(step)) {
  turn_of_thread = this;
}
Slots::Turn::~Turn() {
  turn_of_thread = nullptr;
  slots_.give(slot_);
}

Slots::Away::Away() : turn_(std::exchange(turn_of_thread, nullptr)) {
  if (turn_ != nullptr) turn_->slots_.give(turn_->slot_);
}
Slots::Away::~Away() {
  if (turn_ == nullptr) return;
  turn_->slot_ = turn_->slots_.take(turn_->step_);
  turn_of_thread = turn_;
}

std::size_t Slots::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

std::size_t Slots::take(std::uint64_t step) {
  const int core = sched_getcpu();
  MutexLock lock(mutex_);
  if (!std::ranges::all_of(slots_, &Slot::busy)) {
    const std::size_t slot = take_free(core);
    const int target = slots_[slot].core;
    lock.unlock();
    if (target != core) {
      const cpu_set_t cores = cores_of(pthread_self());
      move_to(target, pthread_self(), cores);
      allow(pthread_self(), cores);
    }
    return slot;
  }
  Waiter me;
  waiting_.emplace(std::pair{step, tickets_++}, &me);
  me.called.wait(mutex_, [&]() VECHE_REQUIRES(mutex_) { return me.slot.has_value(); });
  lock.unlock();
  allow(me.thread, me.cores);
  return *me.slot;
}

std::size_t Slots::take_free(int core) {
  auto slot = std::ranges::find_if(slots_, [&](const Slot& p) { return !p.busy && p.core == core; });
  if (slot == slots_.end()) slot = std::ranges::find(slots_, false, &Slot::busy);
  const bool moves = computes_on(core) && slot->core >= 0 && !computes_on(slot->core);
  if (!moves) slot->core = core;
  slot->busy = true;
  return static_cast<std::size_t>(slot - slots_.begin());
}

bool Slots::computes_on(int core) const {
  return std::ranges::any_of(slots_, [&](const Slot& slot) { return slot.busy && slot.core == core; });
}

void Slots::give(std::size_t slot) {
  const int core = sched_getcpu();
  const MutexLock lock(mutex_);
  slots_[slot].core = core;
  if (waiting_.empty()) {
    slots_[slot].busy = false;
    return;
  }
  Waiter& next = *waiting_.extract(waiting_.begin()).mapped();
  next.slot = slot;
  move_to(core, next.thread, next.cores);
  next.called.notify_one();
}

}  // namespace veche
