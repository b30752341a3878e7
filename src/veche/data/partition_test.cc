#include "veche/data/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "veche/base/errors.h"

namespace veche {
namespace {

std::string refusal(std::size_t samples, int nodes, std::string_view rule) {
  try {
    partition(samples, nodes, rule, 1);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Partition, GivesEverySampleToExactlyOneNode) {
  for (const std::size_t samples : {1, 7, 100, 1001}) {
    for (const int nodes : {1, 2, 7, 36}) {
      if (static_cast<std::size_t>(nodes) > samples) continue;
      const Partition shards = partition(samples, nodes, "iid", 3);
      ASSERT_EQ(shards.size(), static_cast<std::size_t>(nodes));
      std::vector<std::uint32_t> all;
      for (const auto& shard : shards) {
        EXPECT_GE(shard.size(), samples / static_cast<std::size_t>(nodes));
        EXPECT_LE(shard.size(), samples / static_cast<std::size_t>(nodes) + 1);
        all.insert(all.end(), shard.begin(), shard.end());
      }
      std::sort(all.begin(), all.end());
      std::vector<std::uint32_t> expected(samples);
      std::iota(expected.begin(), expected.end(), 0u);
      EXPECT_EQ(all, expected);
    }
  }
}

TEST(Partition, IsAFunctionOfTheSeed) {
  EXPECT_EQ(partition(100, 4, "iid", 3), partition(100, 4, "iid", 3));
  EXPECT_NE(partition(100, 4, "iid", 3), partition(100, 4, "iid", 4));
}

TEST(Partition, MixesTheClasses) {
  // Samples in order of their class: each of 10 nodes must still hold about a tenth of each.
  for (const auto& shard : partition(10000, 10, "iid", 1)) {
    const auto low = std::count_if(shard.begin(), shard.end(), [](std::uint32_t i) { return i < 1000; });
    EXPECT_NEAR(static_cast<double>(low), 100, 50);
  }
}

TEST(Partition, RefusesInOneSentence) {
  EXPECT_NE(refusal(3, 4, "iid").find("3 samples cannot be divided among 4 nodes"), std::string::npos);
  EXPECT_NE(refusal(3, 0, "iid").find("cluster.nodes is 0"), std::string::npos);
  EXPECT_EQ(refusal(30, 4, "idd"), "data.partition 'idd' is unknown; did you mean 'iid'?");
}

TEST(Partition, AnEpochLastsAsLongAsTheLargestShard) {
  EXPECT_EQ(steps_per_epoch({{1, 2, 3}, {4, 5}}, 2), 2u);
  EXPECT_EQ(steps_per_epoch({{1, 2, 3}, {4, 5}}, 3), 1u);
  EXPECT_EQ(steps_per_epoch(partition(60000, 4, "iid", 1), 25), 600u);
  EXPECT_EQ(steps_per_epoch({}, 3), 0u);
  EXPECT_THROW(steps_per_epoch({{1}}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace veche
