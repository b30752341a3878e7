#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "veche/base/batch.h"
#include "veche/data/dataset.h"

namespace veche {

// Prepares batches on threads of its own, ahead of the steps that need them. One is shared by all loaders of a process.
// Its destructor waits for work under way. Thread-safe.
class Prefetcher {
 public:
  explicit Prefetcher(int workers = 1);
  ~Prefetcher();
  struct Queue;
  Queue& queue() { return *queue_; }

 private:
  std::unique_ptr<Queue> queue_;
};

// The batches of one node, in an order that is a function of seed, shard and epoch alone. Every epoch visits every
// sample of each shard once, in a new order. A loader over several shards joins their batches into one: what one
// learner must see to equal many nodes that average their gradients.
class Loader {
 public:
  struct Shard {
    int node = 0;                       // whose stream of randomness the order is drawn from
    std::vector<std::uint32_t> samples;
  };
  struct Plan {
    std::size_t batch = 25;             // samples a shard gives to one batch; the last one of an epoch may be smaller
    std::uint64_t steps_per_epoch = 0;  // the same for all nodes; a shard that has run out gives nothing
    std::uint64_t seed = 1;
    std::uint64_t first_step = 0;       // where a resumed run goes on
  };
  Loader(std::shared_ptr<const Dataset> data, std::vector<Shard> shards, Plan plan, Prefetcher& prefetcher);
  ~Loader();

  // The batch of the next step; the one before it becomes invalid. May be empty when all shards have run out.
  Batch next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Consecutive batches of a whole data set, for evaluation. `from` is any index; fewer come at the end.
struct BatchStorage {
  std::vector<float> images;
  std::vector<std::int64_t> labels;
};
Batch read_batch(const Dataset& data, std::size_t from, std::size_t count, BatchStorage& storage);

}  // namespace veche
