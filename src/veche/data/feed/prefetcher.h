#pragma once

#include <memory>
#include <thread>
#include <vector>

namespace veche {

// Prepares batches on its own threads, ahead of the steps that need them. All loaders of a process
// share one. Thread-safe. The destructor waits for running jobs. Loaders that outlive it, or whose
// prefetcher has no workers, prepare their batches on demand.
class Prefetcher {
 public:
  explicit Prefetcher(int workers = 1);

  class Queue;
  const std::shared_ptr<Queue>& queue() const { return queue_; }
  int workers() const { return static_cast<int>(workers_.size()); }
  // Total time that loaders have waited for batches.
  double seconds_waited() const;

 private:
  const std::shared_ptr<Queue> queue_;
  std::vector<std::jthread> workers_;  // declared after the queue: workers end before it
};

}  // namespace veche
