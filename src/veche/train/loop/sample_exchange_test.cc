#include "veche/train/loop/sample_exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "tests/support/nodes.h"
#include "veche/data/feed/shuffle.h"
#include "veche/data/sets/image_set.h"

namespace veche {
namespace {

constexpr int kNodes = 4;
constexpr std::size_t kSamples = 103, kBatch = 5;
constexpr std::uint64_t kEpochs = 3;

// What a node of a real cluster has: its own samples and no others.
class AtHome final : public PixelSet {
 public:
  explicit AtHome(const std::vector<std::uint32_t>& own)
      : PixelSet({3, 2, 1}, {.mean = {0}, .deviation = {1}}), own_(own.begin(), own.end()) {}

  std::size_t size() const override { return kSamples; }
  int classes() const override { return kSamples; }
  std::int64_t label(std::size_t index) const override {
    check(index);
    return static_cast<std::int64_t>(index);
  }
  std::span<const std::uint8_t> pixels(std::size_t index, std::span<std::uint8_t> room) const override {
    check(index);
    std::ranges::fill(room, static_cast<std::uint8_t>(index));
    return room;
  }

 private:
  void check(std::size_t index) const {
    if (!own_.contains(static_cast<std::uint32_t>(index)))
      throw std::runtime_error("read from another's home");
  }
  const std::set<std::uint32_t> own_;
};

struct Seen {
  std::vector<std::vector<std::int64_t>> batches;
  Traffic sent;
};

// Every batch of every node from `first_step` to the end, and what was sent for it.
std::map<int, Seen> train(double part, std::uint64_t first_step) {
  const Partition home = partition(kSamples, kNodes, read_partition("sizes:[13,30,30,30]"), 1);
  constexpr std::uint64_t kSteps = 6;  // an epoch of the largest shard
  std::map<int, Seen> seen;
  std::mutex mutex;
  testing::run_nodes(kNodes, [&](testing::TestNode& node) {
    const auto me = static_cast<std::size_t>(node.me());
    SampleExchange exchange(node.channel, std::make_shared<AtHome>(home[me]),
                            {.home = home,
                             .exchanged = part,
                             .seed = 3,
                             .steps_per_epoch = kSteps,
                             .stands_for = {node.me()},
                             .first_step = first_step});
    Prefetcher prefetcher(2);
    Loader loader(exchange.data(), {{node.me(), home[me]}},
                  {.batch = kBatch,
                   .steps_per_epoch = kSteps,
                   .seed = 3,
                   .first_step = first_step,
                   .waits_for_epochs = true},
                  prefetcher);
    Seen mine;
    for (std::uint64_t step = first_step; step < kEpochs * kSteps; ++step) {
      exchange.before_step(step, &loader);
      // (1 + Q) N/M, the last sample rounded.
      EXPECT_LE(static_cast<double>(exchange.borrowed()), part * static_cast<double>(home[me].size()) + 0.5);
      const Batch batch = loader.next();
      mine.batches.emplace_back(batch.labels.begin(), batch.labels.end());
      for (std::size_t i = 0; i < batch.size(); ++i)
        EXPECT_FLOAT_EQ(batch.inputs[6 * i], static_cast<float>(batch.labels[i]) / 255);
    }
    mine.sent = exchange.sent();
    const std::lock_guard lock(mutex);
    seen[node.me()] = mine;
  });
  return seen;
}

TEST(SampleExchange, BringsEveryNodeWhatTheDivisionGivesIt) {
  const Partition home = partition(kSamples, kNodes, read_partition("sizes:[13,30,30,30]"), 1);
  for (const double part : {0.0, 0.2, 1.0}) {
    SCOPED_TRACE(part);
    const std::map<int, Seen> seen = train(part, 0);
    std::uint64_t borrowed = 0, sent = 0;
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const Partition now = division(home, part, 3, epoch);
      for (std::size_t node = 0; node < kNodes; ++node) {
        std::multiset<std::int64_t> trained;
        const auto& batches = seen.at(static_cast<int>(node)).batches;
        for (std::size_t step = epoch * 6; step < epoch * 6 + 6; ++step)
          trained.insert(batches[step].begin(), batches[step].end());
        EXPECT_EQ(trained, std::multiset<std::int64_t>(now[node].begin(), now[node].end()));
        const std::set<std::uint32_t> own(home[node].begin(), home[node].end());
        borrowed += static_cast<std::uint64_t>(
            std::ranges::count_if(now[node], [&](std::uint32_t sample) { return !own.contains(sample); }));
      }
    }
    for (const auto& [node, one] : seen) sent += one.sent.bytes;
    EXPECT_EQ(sent, borrowed * (8 + 6));  // a label and six pixels
    EXPECT_EQ(sent > 0, part > 0);
  }
}

TEST(SampleExchange, GoesOnFromAnyStep) {
  const std::map<int, Seen> whole = train(0.4, 0);
  for (const std::uint64_t first : {3, 6, 14}) {
    const std::map<int, Seen> rest = train(0.4, first);
    for (const auto& [node, seen] : rest) {
      const auto& all = whole.at(node).batches;
      const std::vector<std::vector<std::int64_t>> expected(all.begin() + static_cast<std::ptrdiff_t>(first),
                                                            all.end());
      EXPECT_EQ(seen.batches, expected);
      EXPECT_EQ(seen.sent.bytes, whole.at(node).sent.bytes);
      EXPECT_EQ(seen.sent.messages, whole.at(node).sent.messages);
    }
  }
}

}  // namespace
}  // namespace veche
