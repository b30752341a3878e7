#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "veche/batch.h"
#include "veche/data/feed/batch_storage.h"
#include "veche/data/feed/prefetcher.h"
#include "veche/dataset.h"

namespace veche {

// The batches of one node, in an order determined by seed, shard and epoch alone. Every epoch of a
// shard visits each of its samples once, in a new order. A loader over several shards concatenates
// their batches: one learner then sees what many nodes that average their gradients see. While one
// batch is in use, the prefetcher prepares the next one, or as many as it has workers. One thread
// at a time. Allocates nothing after construction.
class Loader {
 public:
  struct Shard {
    int node = 0;  // the node whose random stream determines the order
    std::vector<std::uint32_t> samples;
    std::uint64_t steps_per_epoch = 0;  // batches per epoch of this shard; 0: as in the plan
    std::size_t batch = 0;              // samples per batch of this shard; 0: as in the plan
  };
  struct Plan {
    // Samples per batch from each shard; the last batch of an epoch may be smaller.
    std::size_t batch = 25;
    // An exhausted shard contributes nothing until its next epoch. 0: the largest shard of this
    // loader determines it.
    std::uint64_t steps_per_epoch = 0;
    std::uint64_t seed = 1;
    // Depends only on seed, epoch and sample.
    Augmentation augment = {};
    // The first step of a resumed run. The state is as if all earlier steps had been taken.
    std::uint64_t first_step = 0;
    // If true, no batch of an epoch is prepared before begin_epoch has set the shards of that
    // epoch.
    bool waits_for_epochs = false;
    // Which batch of a node's shard is used at a step, for shards that advance at different steps.
    // Returns nullopt for none. Empty function: batch k at step k.
    std::function<std::optional<std::uint64_t>(int node, std::uint64_t step)> turn = {};
    // By class: the weight of a sample in the loss. Empty: all weigh 1.
    std::vector<float> class_weights = {};
  };
  // Throws std::invalid_argument if a sample is not in `data`, an epoch is too short for a shard,
  // or augmentation is requested for float data.
  Loader(std::shared_ptr<const Dataset> data, std::vector<Shard> shards, Plan plan, Prefetcher& prefetcher);
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;
  ~Loader();

  // For waits_for_epochs: sets the shards of an epoch, equal in number and size to the initial
  // ones. All earlier batches must have been taken, and the last one must no longer be in use.
  void begin_epoch(std::uint64_t epoch, std::vector<Shard> shards);

  // The batch of the next step; invalidates the previous one. May be empty when all shards are
  // exhausted. Rethrows exceptions from reading samples; the next call retries the same step.
  Batch next();

  // Number and total duration of next() calls that had to wait for their batch. Any thread.
  std::uint64_t times_waited() const;
  double seconds_waited() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Up to `count` consecutive samples of a data set, for evaluation: fewer at the end, none beyond
// it. The batch borrows `storage`, which allocates only when it grows.
Batch read_batch(const Dataset& data, std::size_t from, std::size_t count, BatchStorage& storage,
                 BatchStorage::What what = BatchStorage::What::samples);

}  // namespace veche
