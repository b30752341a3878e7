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
    job.state_ = PrefetchJob::State::kQueued;
    job.before_ = last_;
    job.after_ = nullptr;
    (last_ != nullptr ? last_->after_ : first_) = &job;
    last_ = &job;
  }
  pushed_.notify_one();
}

bool Prefetcher::Queue::finish(PrefetchJob& job) {
  const MutexLock lock(mutex_);
  const bool waited = job.state_ != PrefetchJob::State::kDone;
  if (job.state_ == PrefetchJob::State::kQueued) {
    unlink(job);
    run(job);
  }
  job.done_.wait(mutex_, [&] { return job.state_ == PrefetchJob::State::kDone; });
  job.state_ = PrefetchJob::State::kIdle;
  if (job.error_) std::rethrow_exception(std::exchange(job.error_, nullptr));
  return waited;
}

void Prefetcher::Queue::cancel(PrefetchJob& job) noexcept {
  const MutexLock lock(mutex_);
  if (job.state_ == PrefetchJob::State::kQueued) unlink(job);
  job.done_.wait(mutex_, [&] { return job.state_ != PrefetchJob::State::kRunning; });
  job.state_ = PrefetchJob::State::kIdle;
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
  (job.before_ != nullptr ? job.before_->after_ : first_) = job.after_;
  (job.after_ != nullptr ? job.after_->before_ : last_) = job.before_;
}

void Prefetcher::Queue::run(PrefetchJob& job) {
  job.state_ = PrefetchJob::State::kRunning;
  std::exception_ptr error;
  {
    const MutexUnlock unlock(mutex_);
    try {
      job.run();
    } catch (...) {
      error = std::current_exception();
    }
  }
  job.error_ = std::move(error);
  job.state_ = PrefetchJob::State::kDone;
  // Notify with the mutex held: the owner may destroy the job as soon as the mutex is free.
  job.done_.notify_all();
}

}  // namespace veche
