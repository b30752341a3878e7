#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>

#include "veche/data/feed/prefetcher.h"

namespace veche {

// One piece of work that its owner hands to a queue again and again. What run() touches belongs to the queue
// from push() until finish() or cancel() returns.
class PrefetchJob {
 public:
  virtual ~PrefetchJob() = default;

 private:
  friend class Prefetcher::Queue;
  virtual void run() = 0;

  // Guarded by the queue's mutex.
  enum class State { kIdle, kQueued, kRunning, kDone } state_ = State::kIdle;
  PrefetchJob* before_ = nullptr;
  PrefetchJob* after_ = nullptr;
  std::exception_ptr error_;
  std::condition_variable done_;  // one a job: the end of one wakes only who waits for it
};

// Jobs in the order they came. They are linked to each other, so that nothing is allocated. Thread-safe.
class Prefetcher::Queue {
 public:
  void push(PrefetchJob& job);
  // Returns when the job has run, and whether that took waiting. A job that no worker has begun is run here:
  // waiting for one would be slower. Rethrows what run() threw; the job may then be pushed again.
  bool finish(PrefetchJob& job);
  // Returns when the job is not queued and not running, which it need never have been.
  void cancel(PrefetchJob& job) noexcept;
  // What a worker does until it is told to stop.
  void serve(const std::stop_token& stop);

  std::atomic<double> seconds_waited = 0;  // by all loaders

 private:
  void unlink(PrefetchJob& job);
  void run(PrefetchJob& job, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  // Guarded by mutex_.
  PrefetchJob* first_ = nullptr;
  PrefetchJob* last_ = nullptr;
  std::condition_variable_any pushed_;
};

}  // namespace veche
