#include "veche/data/feed/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/support/made_up_sets.h"
#include "veche/data/division/partition.h"
#include "veche/data/sets/image_set.h"
#include "veche/data/sets/synthetic.h"

namespace veche {
namespace {

using namespace std::chrono_literals;

// Every sample is identified by its label and pixels. Reading can be made slow or made to fail.
class Numbered final : public Dataset {
 public:
  explicit Numbered(std::size_t size) : size_(size) {}
  std::size_t size() const override { return size_; }
  Shape shape() const override { return {3, 1, 2}; }
  int classes() const override { return static_cast<int>(size_); }
  std::int64_t label(std::size_t index) const override { return static_cast<std::int64_t>(index); }
  void read(std::size_t index, std::span<float> out) const override {
    if (pause > 0ms) std::this_thread::sleep_for(pause);
    reads.release();
    if (failures > 0 && failures-- > 0) throw std::runtime_error("the disk is gone");
    std::iota(out.begin(), out.end(), static_cast<float>(index * 10));
  }

  std::chrono::milliseconds pause{0};
  mutable std::atomic<int> failures{0};
  mutable std::counting_semaphore<> reads{0};

 private:
  std::size_t size_;
};

// A copy of a batch that outlives the next one.
struct Copy {
  std::vector<float> images;
  std::vector<std::int64_t> labels;
  std::uint64_t step;
  bool operator==(const Copy&) const = default;
};
Copy copy(const Batch& batch) {
  return {{batch.inputs.begin(), batch.inputs.end()}, {batch.labels.begin(), batch.labels.end()}, batch.step};
}
std::vector<Copy> take(Loader& loader, int steps) {
  std::vector<Copy> result;
  for (int i = 0; i < steps; ++i) result.push_back(copy(loader.next()));
  return result;
}

std::vector<std::uint32_t> range(std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> result(to - from);
  std::iota(result.begin(), result.end(), from);
  return result;
}

const auto kData = std::make_shared<Numbered>(100);

TEST(Loader, EveryEpochVisitsEverySampleOnceInANewOrder) {
  Prefetcher prefetcher;
  Loader loader(kData, {{.node = 3, .samples = range(20, 43)}}, {.batch = 5}, prefetcher);
  std::vector<std::vector<std::int64_t>> epochs;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int64_t> seen;
    for (const std::size_t expected : {5, 5, 5, 5, 3}) {
      const Batch batch = loader.next();
      ASSERT_EQ(batch.size(), expected);
      EXPECT_EQ(batch.step, epoch * 5 + seen.size() / 5);
      EXPECT_EQ(batch.shape, kData->shape());
      ASSERT_EQ(batch.inputs.size(), expected * 6);
      for (std::size_t i = 0; i < expected; ++i) {
        EXPECT_EQ(batch.inputs[i * 6 + 5], static_cast<float>(batch.labels[i] * 10 + 5));
        seen.push_back(batch.labels[i]);
      }
    }
    epochs.push_back(seen);
    std::sort(seen.begin(), seen.end());
    for (std::size_t i = 0; i < 23; ++i) EXPECT_EQ(seen[i], static_cast<std::int64_t>(20 + i));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
}

TEST(Loader, OrderIsAFunctionOfSeedAndNode) {
  Prefetcher prefetcher;
  const auto first = [&](int node, std::uint64_t seed) {
    Loader loader(kData, {{.node = node, .samples = range(0, 50)}}, {.batch = 50, .seed = seed}, prefetcher);
    return copy(loader.next()).labels;
  };
  EXPECT_EQ(first(0, 1), first(0, 1));
  EXPECT_NE(first(0, 1), first(1, 1));
  EXPECT_NE(first(0, 1), first(0, 2));
}

TEST(Loader, ManyLoadersGiveTheSameWhateverTheNumberOfWorkers) {
  const Partition shards = partition(100, 36, read_partition("iid"), 1);
  const Loader::Plan plan{.batch = 2, .steps_per_epoch = steps_per_epoch(shards, 2)};
  std::vector<std::vector<Copy>> expected;
  for (const int workers : {0, 1, 3}) {
    Prefetcher prefetcher(workers);
    std::vector<std::vector<Copy>> taken(shards.size());
    std::vector<std::thread> nodes;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      nodes.emplace_back([&, i] {
        Loader loader(kData, {{.node = static_cast<int>(i), .samples = shards[i]}}, plan, prefetcher);
        taken[i] = take(loader, 25);
      });
    }
    for (std::thread& node : nodes) node.join();
    if (expected.empty()) expected = taken;
    EXPECT_EQ(taken, expected) << workers << " workers";
  }
}

TEST(Loader, AShardThatHasRunOutGivesNothingUntilTheNextEpoch) {
  Prefetcher prefetcher;
  Loader loader(kData, {{.node = 0, .samples = {7, 8, 9}}}, {.batch = 2, .steps_per_epoch = 4}, prefetcher);
  for (std::uint64_t step = 0; step < 12; ++step) {
    const Batch batch = loader.next();
    EXPECT_EQ(batch.size(), (std::vector<std::size_t>{2, 1, 0, 0})[step % 4]);
    EXPECT_EQ(batch.step, step);
  }
}

TEST(Loader, ResumesAsIfItHadRunFromTheBeginning) {
  Prefetcher prefetcher;
  const std::vector<Loader::Shard> shards{{.node = 0, .samples = range(0, 11)},
                                          {.node = 1, .samples = range(50, 57)}};
  Loader whole(kData, shards, {.batch = 3, .steps_per_epoch = 5}, prefetcher);
  const std::vector<Copy> expected = take(whole, 20);
  for (std::uint64_t start = 0; start < 20; ++start) {
    Loader rest(kData, shards, {.batch = 3, .steps_per_epoch = 5, .first_step = start}, prefetcher);
    const auto from = expected.begin() + static_cast<std::ptrdiff_t>(start);
    EXPECT_EQ(take(rest, static_cast<int>(20 - start)), std::vector<Copy>(from, expected.end()));
  }
}

TEST(Loader, JoinsShardsInTheirOrder) {
  Prefetcher prefetcher(2);
  const Partition parts = partition(100, 3, read_partition("iid"), 5);
  const Loader::Plan plan{.batch = 8, .steps_per_epoch = steps_per_epoch(parts, 8), .seed = 5};
  std::vector<Loader::Shard> shards;
  std::vector<Loader> singles;
  for (int node = 0; node < 3; ++node) {
    shards.push_back({.node = node, .samples = parts[static_cast<std::size_t>(node)]});
    singles.emplace_back(kData, std::vector{shards.back()}, plan, prefetcher);
  }
  Loader joined(kData, shards, plan, prefetcher);
  for (std::uint64_t step = 0; step < 3 * plan.steps_per_epoch; ++step) {
    Copy expected{{}, {}, step};
    for (Loader& single : singles) {
      const Batch batch = single.next();
      expected.images.insert(expected.images.end(), batch.inputs.begin(), batch.inputs.end());
      expected.labels.insert(expected.labels.end(), batch.labels.begin(), batch.labels.end());
    }
    EXPECT_EQ(copy(joined.next()), expected);
  }
}

TEST(Loader, PreparesTheNextBatchWhileOneIsInUse) {
  const auto data = std::make_shared<Numbered>(100);
  Prefetcher prefetcher;
  Loader loader(data, {{.node = 0, .samples = range(0, 40)}}, {.batch = 10}, prefetcher);
  const Batch batch = loader.next();
  const Copy before = copy(batch);
  for (int read = 0; read < 20; ++read)
    ASSERT_TRUE(data->reads.try_acquire_for(30s)) << "nothing was prepared";
  EXPECT_EQ(copy(batch), before);  // not modified by prefetching
}

TEST(Loader, CountsItsWaits) {
  const auto slow = std::make_shared<Numbered>(100);
  slow->pause = 2ms;
  for (const int workers : {0, 1}) {
    Prefetcher prefetcher(workers);
    Loader loader(slow, {{.node = 0, .samples = range(0, 10)}}, {.batch = 2}, prefetcher);
    EXPECT_EQ(loader.seconds_waited(), 0);
    take(loader, 5);
    EXPECT_GE(loader.times_waited(), 1u);
    EXPECT_GT(loader.seconds_waited(), 0);
    if (workers == 0) {
      EXPECT_EQ(loader.times_waited(), 5u);
      EXPECT_GE(loader.seconds_waited(), 0.02);
    }
  }
}

TEST(Loader, FailuresSurfaceInNextAndCanBeTriedAgain) {
  for (const int workers : {0, 1}) {
    const auto data = std::make_shared<Numbered>(100);
    data->failures = 2;
    Prefetcher prefetcher(workers);
    Loader loader(data, {{.node = 0, .samples = range(0, 10)}}, {.batch = 2}, prefetcher);
    EXPECT_THROW(loader.next(), std::runtime_error);
    EXPECT_THROW(loader.next(), std::runtime_error);
    EXPECT_EQ(loader.next().step, 0u);
    EXPECT_EQ(loader.next().step, 1u);
  }
}

TEST(Loader, MayBeDestroyedWithWorkQueuedOrUnderWay) {
  const auto slow = std::make_shared<Numbered>(100);
  slow->pause = 1ms;
  Prefetcher prefetcher;
  for (int round = 0; round < 10; ++round) {
    std::vector<Loader> loaders;
    for (int node = 0; node < 8; ++node) {
      loaders.emplace_back(slow, std::vector<Loader::Shard>{{.node = node, .samples = range(0, 10)}},
                           Loader::Plan{.batch = 2}, prefetcher);
    }
    if (round % 2 == 0) loaders[3].next();
  }
}

TEST(Loader, OutlivesItsPrefetcher) {
  auto prefetcher = std::make_unique<Prefetcher>();
  Loader a(kData, {{.node = 0, .samples = range(0, 10)}}, {.batch = 2}, *prefetcher);
  Loader b(kData, {{.node = 0, .samples = range(0, 10)}}, {.batch = 2}, *prefetcher);
  const std::vector<Copy> expected = take(a, 20);
  prefetcher.reset();
  EXPECT_EQ(take(b, 20), expected);
}

TEST(Loader, RefusesMisuse) {
  Prefetcher prefetcher;
  const std::vector<Loader::Shard> shards{{.node = 0, .samples = range(0, 10)}};
  EXPECT_THROW(Loader(kData, shards, {.batch = 0}, prefetcher), std::invalid_argument);
  EXPECT_THROW(Loader(kData, shards, {.batch = 3, .steps_per_epoch = 3}, prefetcher), std::invalid_argument);
  EXPECT_THROW(Loader(kData, {{.node = 0, .samples = {100}}}, {}, prefetcher), std::invalid_argument);
  EXPECT_THROW(Prefetcher(-1), std::invalid_argument);
}

TEST(Loader, WithoutSamplesGivesEmptyBatches) {
  Prefetcher prefetcher;
  Loader loader(kData, {}, {}, prefetcher);
  EXPECT_EQ(loader.next().size(), 0u);
  EXPECT_EQ(loader.next().step, 1u);
}

// Whatever the task, a loader gives what the set has, in the order that it shuffles.
TEST(Loader, CarriesTokensAndTheWeightsOfTargets) {
  const auto text = std::make_shared<testing::MadeUpText>(testing::MadeUpText::Form{.weighted = true});
  Prefetcher prefetcher;
  Loader loader(text, {{0, {3, 8, 21, 30}}}, {.batch = 3}, prefetcher);
  std::multiset<std::int32_t> begins;
  for (const std::size_t expected : {std::size_t{3}, std::size_t{1}}) {
    const Batch batch = loader.next();
    ASSERT_EQ(batch.size(), expected);
    EXPECT_EQ(batch.targets(), expected * 5);
    EXPECT_TRUE(batch.inputs.empty());
    EXPECT_TRUE(batch.labels.empty());
    ASSERT_EQ(batch.tokens.size(), expected * 6);
    ASSERT_EQ(batch.weights.size(), expected * 5);
    for (std::size_t i = 0; i < expected; ++i) {
      const Batch one = batch.part(i, 1);
      ASSERT_EQ(one.size(), 1u);
      for (std::size_t t = 1; t < 6; ++t) EXPECT_EQ(one.tokens[t], (one.tokens[t - 1] + 1) % 7);
      EXPECT_EQ(one.weights[0], 0);
      EXPECT_EQ(one.weights[4], 1);
      begins.insert(one.tokens[0]);
    }
  }
  EXPECT_EQ(begins, (std::multiset<std::int32_t>{3 % 7, 8 % 7, 21 % 7, 30 % 7}));
}

TEST(Loader, CarriesValuesAndTheirWeights) {
  const auto table = std::make_shared<testing::MadeUpTable>(20, true);
  Prefetcher prefetcher;
  Loader loader(table, {{0, {0, 1, 2, 3, 4, 5, 6}}}, {.batch = 7}, prefetcher);
  const Batch batch = loader.next();
  ASSERT_EQ(batch.size(), 7u);
  EXPECT_TRUE(batch.labels.empty());
  std::set<float> values;
  for (std::size_t i = 0; i < 7; ++i) {
    const Batch one = batch.part(i, 1);
    EXPECT_NEAR(one.values[0], 2 * one.inputs[0] - one.inputs[1] + 3, 1e-6);
    values.insert(one.values[0]);
    for (std::size_t row = 0; row < 7; ++row)
      if (one.values[0] == testing::MadeUpTable::target(row)) {
        EXPECT_EQ(one.weights[0], static_cast<float>(1 + row % 3));
      }
  }
  EXPECT_EQ(values.size(), 7u);
}

TEST(ReadBatch, ReadsTargetsWithoutInputs) {
  const testing::MadeUpTable table(10);
  BatchStorage storage;
  const Batch batch = read_batch(table, 8, 5, storage, BatchStorage::What::targets);
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_TRUE(batch.inputs.empty());
  EXPECT_EQ(batch.values[1], testing::MadeUpTable::target(9));
  EXPECT_TRUE(read_batch(*kData, 0, 3, storage, BatchStorage::What::targets).inputs.empty());
}

TEST(ReadBatch, ReadsConsecutiveSamplesUpToTheEnd) {
  BatchStorage storage;
  const Batch batch = read_batch(*kData, 95, 10, storage);
  ASSERT_EQ(batch.size(), 5u);
  EXPECT_EQ(batch.labels[0], 95);
  EXPECT_EQ(batch.inputs[6], 960.0f);
  EXPECT_EQ(read_batch(*kData, 100, 10, storage).size(), 0u);
  EXPECT_EQ(read_batch(*kData, 1000, 10, storage).size(), 0u);
}

// Augmentation depends only on sample and epoch, not on the worker or the batch.
TEST(Loader, AugmentsEquallyWithAnyNumberOfWorkersAndAnyBatch) {
  const auto data = std::make_shared<ImageSet>(
      make_synthetic({.shape = {3, 8, 8}, .samples = 60}, "train", 1), synthetic_normalization());
  const auto images = [&](int workers, std::size_t batch, std::uint64_t first_step) {
    Prefetcher prefetcher(workers);
    Loader loader(
        data, {{.node = 0, .samples = range(0, 60)}},
        {.batch = batch, .augment = {.crop = 2, .flip = true, .cutout = 3}, .first_step = first_step},
        prefetcher);
    std::vector<float> all;
    for (std::uint64_t step = first_step; step < 120 / batch; ++step) {
      const Batch taken = loader.next();
      all.insert(all.end(), taken.inputs.begin(), taken.inputs.end());
    }
    return all;
  };
  const std::vector<float> reference = images(0, 10, 0);
  for (const int workers : {1, 2, 5}) EXPECT_EQ(images(workers, 10, 0), reference);
  EXPECT_EQ(images(2, 15, 0), reference);
  const std::size_t epoch = 60 * data->shape().size();
  EXPECT_EQ(images(3, 10, 6),
            std::vector<float>(reference.end() - static_cast<std::ptrdiff_t>(epoch), reference.end()));
  EXPECT_NE(std::accumulate(reference.begin(), reference.begin() + static_cast<std::ptrdiff_t>(epoch), 0.0),
            std::accumulate(reference.end() - static_cast<std::ptrdiff_t>(epoch), reference.end(), 0.0));
}

TEST(Loader, RefusesToAugmentFloats) {
  Prefetcher prefetcher(0);
  EXPECT_THROW(Loader(std::make_shared<Numbered>(4), {{.node = 0, .samples = range(0, 4)}},
                      {.batch = 2, .augment = {.flip = true}}, prefetcher),
               std::invalid_argument);
}

}  // namespace
}  // namespace veche
