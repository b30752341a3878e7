#include "veche/data/feed/prefetcher.h"

#include <stdexcept>
#include <utility>

#include "veche/data/feed/prefetch_queue.h"

namespace veche {

Prefetcher::Prefetcher(int workers) : queue_(std::make_shared<Queue>()) {
  if (workers < 0) throw std::invalid_argument("a prefetcher cannot have fewer than no workers");
  for (int i = 0; i < workers; ++i) {
    workers_.emplace_back([queue = queue_.get()](const std::stop_token& stop) { queue->serve(stop); });
  }
}

double Prefetcher::seconds_waited() const { return queue_->seconds_waited; }

void Prefetcher::Queue::push(PrefetchJob& job) {
  {
    const MutexLock lock(mutex_);
    Place& place = place_of(job);
    place.state = Place::State::kQueued;
    place.before = last_;
    place.after = nullptr;
    (last_ != nullptr ? place_of(*last_).after : first_) = &job;
    last_ = &job;
  }
  pushed_.notify_one();
}

bool Prefetcher::Queue::finish(PrefetchJob& job) {
  const MutexLock lock(mutex_);
  Place& place = place_of(job);
  const bool waited = place.state != Place::State::kDone;
  if (place.state == Place::State::kQueued) {
    unlink(job);
    run(job);
  }
  job.done_.wait(mutex_, [&] { return place.state == Place::State::kDone; });
  place.state = Place::State::kIdle;
  if (place.error) std::rethrow_exception(std::exchange(place.error, nullptr));
  return waited;
}

void Prefetcher::Queue::cancel(PrefetchJob& job) noexcept {
  const MutexLock lock(mutex_);
  Place& place = place_of(job);
  if (place.state == Place::State::kQueued) unlink(job);
  job.done_.wait(mutex_, [&] { return place.state != Place::State::kRunning; });
  place.state = Place::State::kIdle;
}

void Prefetcher::Queue::serve(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  while (pushed_.wait(mutex_, stop, [&]() VECHE_REQUIRES(mutex_) { return first_ != nullptr; }) &&
         !stop.stop_requested()) {
    PrefetchJob& job = *first_;
    unlink(job);
    run(job);
  }
}

void Prefetcher::Queue::unlink(PrefetchJob& job) {
  const Place& place = place_of(job);
  (place.before != nullptr ? place_of(*place.before).after : first_) = place.after;
  (place.after != nullptr ? place_of(*place.after).before : last_) = place.before;
}

void Prefetcher::Queue::run(PrefetchJob& job) {
  Place& place = place_of(job);
  place.state = Place::State::kRunning;
  std::exception_ptr error;
  {
    const MutexUnlock unlock(mutex_);
    try {
      job.run();
    } catch (...) {
      error = std::current_exception();
    }
  }
  place.error = std::move(error);
  place.state = Place::State::kDone;
  // Notify with the mutex held: the owner may destroy the job as soon as the mutex is free.
  job.done_.notify_all();
}

}  // namespace veche
