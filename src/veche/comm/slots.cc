#include "veche/comm/slots.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

namespace veche {
namespace {

// Turns belong to threads, and who waits does not know who computes around it.
thread_local Slots::Turn* turn_of_thread = nullptr;

int cores_for(int processes) {
  const int allowed = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (processes == 1) return allowed;
  return std::clamp(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) / processes, 1, allowed);
}

// Empty where it cannot be told.
cpu_set_t cores_of(pthread_t thread) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  pthread_getaffinity_np(thread, sizeof cores, &cores);
  return cores;
}

void allow(pthread_t thread, const cpu_set_t& cores) { pthread_setaffinity_np(thread, sizeof cores, &cores); }

// Until it is allowed `cores` again, which it may use. Advice only: else it runs where the kernel likes.
void move_to(int core, pthread_t thread, const cpu_set_t& cores) {
  if (core < 0 || core >= CPU_SETSIZE || !CPU_ISSET(static_cast<std::size_t>(core), &cores)) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(core), &only);
  allow(thread, only);
}

}  // namespace

struct Slots::Waiter {
  std::optional<std::size_t> place;  // given by the one who leaves it
  std::condition_variable called;
  const pthread_t thread = pthread_self();
  const cpu_set_t cores = cores_of(thread);  // once it runs where it should, it may be moved again
};

Slots::Slots(int places, int processes)
    : places_(static_cast<std::size_t>(places > 0 ? places : cores_for(processes))) {}

Slots::Turn::Turn(Slots& slots, std::uint64_t step) : slots_(slots), step_(step), place_(slots.take(step)) {
  turn_of_thread = this;
}
Slots::Turn::~Turn() {
  turn_of_thread = nullptr;
  slots_.give(place_);
}

Slots::Away::Away() : turn_(std::exchange(turn_of_thread, nullptr)) {
  if (turn_ != nullptr) turn_->slots_.give(turn_->place_);
}
Slots::Away::~Away() {
  if (turn_ == nullptr) return;
  turn_->place_ = turn_->slots_.take(turn_->step_);
  turn_of_thread = turn_;
}

std::size_t Slots::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::size_t Slots::take(std::uint64_t step) {
  const int core = sched_getcpu();
  std::unique_lock lock(mutex_);
  if (!std::ranges::all_of(places_, &Place::busy)) {
    const std::size_t place = take_free(core);
    const int target = places_[place].core;
    lock.unlock();
    if (target != core) {
      const cpu_set_t cores = cores_of(pthread_self());
      move_to(target, pthread_self(), cores);
      allow(pthread_self(), cores);
    }
    return place;
  }
  Waiter me;
  waiting_.emplace(std::pair{step, tickets_++}, &me);
  me.called.wait(lock, [&] { return me.place.has_value(); });
  lock.unlock();
  allow(me.thread, me.cores);
  return *me.place;
}

std::size_t Slots::take_free(int core) {
  auto place = std::ranges::find_if(places_, [&](const Place& p) { return !p.busy && p.core == core; });
  if (place == places_.end()) place = std::ranges::find(places_, false, &Place::busy);
  const bool moves = computes_on(core) && place->core >= 0 && !computes_on(place->core);
  if (!moves) place->core = core;
  place->busy = true;
  return static_cast<std::size_t>(place - places_.begin());
}

bool Slots::computes_on(int core) const {
  return std::ranges::any_of(places_, [&](const Place& place) { return place.busy && place.core == core; });
}

void Slots::give(std::size_t place) {
  const int core = sched_getcpu();
  const std::lock_guard lock(mutex_);
  places_[place].core = core;
  if (waiting_.empty()) {
    places_[place].busy = false;
    return;
  }
  Waiter& next = *waiting_.extract(waiting_.begin()).mapped();
  next.place = place;
  move_to(core, next.thread, next.cores);
  next.called.notify_one();
}

}  // namespace veche
