#pragma once

#include <memory>
#include <thread>
#include <vector>

namespace veche {

// Prepares batches on threads of its own, ahead of the steps that need them. One is shared by all loaders of
// a process. Thread-safe. Its destructor waits for work under way; loaders that outlive it, and those of a
// prefetcher without workers, prepare their batches themselves when asked for them.
class Prefetcher {
 public:
  explicit Prefetcher(int workers = 1);

  class Queue;
  const std::shared_ptr<Queue>& queue() const { return queue_; }
  int workers() const { return static_cast<int>(workers_.size()); }
  // How long loaders have waited for batches that were not ready, all together.
  double seconds_waited() const;

 private:
  const std::shared_ptr<Queue> queue_;
  std::vector<std::jthread> workers_;  // after the queue: they end before it does
};

}  // namespace veche
