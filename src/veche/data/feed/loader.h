#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "veche/batch.h"
#include "veche/data/feed/prefetcher.h"
#include "veche/data/feed/sample_reader.h"
#include "veche/dataset.h"

namespace veche {

// The batches of one node, in an order that is a function of seed, shard and epoch alone. Every epoch of a
// shard visits each of its samples once, in a new order. A loader over several shards joins their batches
// into one: what one learner must see to equal many nodes that average their gradients. While one batch is in
// use the prefetcher prepares the next, or as many as it has workers. Used by one thread at a time; allocates
// nothing after construction.
class Loader {
 public:
  struct Shard {
    int node = 0;  // whose stream of randomness the order is drawn from
    std::vector<std::uint32_t> samples;
    std::uint64_t steps_per_epoch = 0;  // batches of this shard that make an epoch of it; 0: as the plan says
  };
  struct Plan {
    // Samples a shard gives to one batch; the last one of an epoch may be smaller.
    std::size_t batch = 25;
    // A shard that has run out gives nothing until its next epoch. 0: what the largest shard of this loader
    // takes.
    std::uint64_t steps_per_epoch = 0;
    std::uint64_t seed = 1;
    // Drawn from the seed, the epoch and the sample alone.
    Augmentation augment = {};
    // Where a resumed run goes on, as if all steps before had been taken.
    std::uint64_t first_step = 0;
    // No batch of an epoch is prepared before begin_epoch has told what the shards hold in it.
    bool waits_for_epochs = false;
    // Which of its batches a node's shard gives at a step, where shards do not keep pace: their nodes train
    // at different steps, or begin epochs at different steps. Nothing: none. Empty: batch k at step k.
    std::function<std::optional<std::uint64_t>(int node, std::uint64_t step)> turn = {};
  };
  // Throws std::invalid_argument when a sample is not in `data`, an epoch is too short for a shard, or `data`
  // are floats and shall be augmented.
  Loader(std::shared_ptr<const Dataset> data, std::vector<Shard> shards, Plan plan, Prefetcher& prefetcher);
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;
  ~Loader();

  // For a loader that waits: from here on these shards, as many and as large as those it was made with. All
  // batches before must have been taken, and the last one is no longer used.
  void begin_epoch(std::uint64_t epoch, std::vector<Shard> shards);

  // The batch of the next step; the one before it becomes invalid. May be empty when all shards have run out.
  // Throws what reading the samples threw; called again, it tries the same step again.
  Batch next();

  // How often and how long next() had to wait because its batch was not ready. Any thread may ask.
  std::uint64_t times_waited() const;
  double seconds_waited() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct BatchStorage {
  std::vector<float> images;
  std::vector<std::int64_t> labels;
  SampleReader reader;
};

// Up to `count` consecutive samples of a data set, for evaluation: fewer at its end, none beyond it. The
// batch lies in `storage`, which allocates only when it grows.
Batch read_batch(const Dataset& data, std::size_t from, std::size_t count, BatchStorage& storage);

}  // namespace veche
