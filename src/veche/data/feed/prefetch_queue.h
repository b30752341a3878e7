#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <stop_token>

#include "veche/base/thread/mutex.h"
#include "veche/data/feed/prefetcher.h"

namespace veche {

// A reusable job. The queue owns what run() touches from push() until finish() or cancel() returns.
class PrefetchJob {
 public:
  virtual ~PrefetchJob() = default;

 private:
  friend class Prefetcher::Queue;
  virtual void run() = 0;

  // What the queue knows of a job: under the queue's mutex, by Queue::place_of.
  struct Place {
    enum class State { kIdle, kQueued, kRunning, kDone } state = State::kIdle;
    PrefetchJob* before = nullptr;
    PrefetchJob* after = nullptr;
    std::exception_ptr error;
  } place_;
  ConditionVariable done_;  // one per job, so that its completion wakes only its waiter
};

// A FIFO queue of jobs. Intrusively linked, so it allocates nothing. Thread-safe.
class Prefetcher::Queue {
 public:
  void push(PrefetchJob& job);
  // Waits until the job has run; returns whether that took waiting. A job that no worker has
  // started is run by the caller, which is faster than waiting. Rethrows exceptions from run(); the
  // job may then be pushed again.
  bool finish(PrefetchJob& job);
  // Returns when the job is neither queued nor running. The job may be idle.
  void cancel(PrefetchJob& job) noexcept;
  // The loop of a worker until it is stopped.
  void serve(const std::stop_token& stop);

  std::atomic<double> seconds_waited = 0;  // sum over all loaders

 private:
  using Place = PrefetchJob::Place;
  // A job does not know the mutex that guards its place, so the place is only reached through here.
  Place& place_of(PrefetchJob& job) VECHE_REQUIRES(mutex_) { return job.place_; }
  void unlink(PrefetchJob& job) VECHE_REQUIRES(mutex_);
  void run(PrefetchJob& job) VECHE_REQUIRES(mutex_);

  Mutex mutex_;
  PrefetchJob* first_ VECHE_GUARDED_BY(mutex_) = nullptr;
  PrefetchJob* last_ VECHE_GUARDED_BY(mutex_) = nullptr;
  std::condition_variable_any pushed_;
};

}  // namespace veche
