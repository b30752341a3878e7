#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

#include "veche/base/thread/mutex.h"

namespace veche::grid {

// A queue of work that must not block the links thread, run in order by its own thread. Any thread.
class Worker {
 public:
  static constexpr std::size_t kMost = 1024;  // queued items

  Worker() : thread_([this](const std::stop_token& stop) { run(stop); }) {}
  // Returns false if the queue is full.
  bool add(std::function<void()> work) {
    const MutexLock lock(mutex_);
    if (work_.size() >= kMost) return false;
    work_.push_back(std::move(work));
    changed_.notify_one();
    return true;
  }
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  ~Worker() { stop(); }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      MutexLock lock(mutex_);
      changed_.wait(mutex_, stop, [this]() VECHE_REQUIRES(mutex_) { return !work_.empty(); });
      if (stop.stop_requested()) return;
      const auto next = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      next();
    }
  }

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> work_ VECHE_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace veche::grid
