#include "veche/data/division/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "veche/errors.h"

namespace veche {
namespace {

std::string refusal(std::size_t samples, int nodes, std::string_view rule) {
  try {
    partition(samples, nodes, read_partition(rule), 1);
  } catch (const RequestError& error) {
    return error.what();
  }
  return "nothing was refused";
}

constexpr int kClasses = 10;
std::int64_t label(std::size_t sample) { return static_cast<std::int64_t>(sample * 7 % kClasses); }

PartitionHints hints_for(std::size_t nodes) {
  PartitionHints hints{.label = label, .classes = kClasses};
  for (std::size_t node = 0; node < nodes; ++node) hints.speed.push_back(1.0 + static_cast<double>(node % 3));
  hints.owner = [nodes](std::size_t sample) { return sample % nodes; };
  return hints;
}

std::string sizes_for(std::size_t samples, std::size_t nodes) {  // the last node has almost all samples
  std::string rule = "sizes:[";
  for (std::size_t node = 1; node < nodes; ++node) rule += "1,";
  return rule + std::to_string(samples - nodes + 1) + "]";
}

struct Case {
  std::size_t samples;
  int nodes;
  std::string rule;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::size_t samples : {1, 7, 100, 1001})
    for (const int nodes : {1, 2, 7, 36}) {
      const auto count = static_cast<std::size_t>(nodes);
      if (count > samples) continue;
      for (const char* rule : {"iid", "proportional", "contiguous", "classes:10", "dirichlet:0.001",
                               "dirichlet:0.1", "dirichlet:1", "dirichlet:1000000", "folders"})
        cases.push_back({samples, nodes, rule});
      if (nodes >= 7) cases.push_back({samples, nodes, "classes:2"});
      cases.push_back({samples, nodes, sizes_for(samples, count)});
    }
  cases.push_back({1000, 3, "sizes:0.2,0.5,0.3"});
  return cases;
}

// For every rule, the nodes' lists together contain each sample exactly once, and none is empty.
TEST(Partition, EveryRuleGivesEverySampleToExactlyOneNode) {
  for (const auto& [samples, nodes, rule] : all_cases())
    for (const std::uint64_t seed : {1, 2, 3}) {
      SCOPED_TRACE(rule + ", " + std::to_string(samples) + " samples, " + std::to_string(nodes) + " nodes");
      const Partition shards =
          partition(samples, nodes, read_partition(rule), seed, hints_for(static_cast<std::size_t>(nodes)));
      ASSERT_EQ(shards.size(), static_cast<std::size_t>(nodes));
      std::vector<std::uint32_t> all;
      for (const auto& shard : shards) {
        EXPECT_FALSE(shard.empty());
        all.insert(all.end(), shard.begin(), shard.end());
      }
      std::sort(all.begin(), all.end());
      std::vector<std::uint32_t> expected(samples);
      std::iota(expected.begin(), expected.end(), 0u);
      EXPECT_EQ(all, expected);
    }
}

TEST(Partition, EveryRuleIsAFunctionOfTheSeed) {
  for (const auto& [samples, nodes, rule] : all_cases()) {
    SCOPED_TRACE(rule);
    const auto divide = [&](std::uint64_t seed) {
      return partition(samples, nodes, read_partition(rule), seed,
                       hints_for(static_cast<std::size_t>(nodes)));
    };
    EXPECT_EQ(divide(3), divide(3));
    if (samples > 100 && nodes > 1 && rule != "folders" && rule != "contiguous") {
      EXPECT_NE(divide(3), divide(4));
    }
  }
}

TEST(Partition, ContiguousShardsFollowEachOther) {
  const Partition shards = partition(10, 3, read_partition("contiguous"), 1);
  EXPECT_EQ(shards, (Partition{{0, 1, 2, 3}, {4, 5, 6}, {7, 8, 9}}));
}

TEST(Partition, SizesAreThoseAskedFor) {
  for (const auto& shard : partition(1001, 7, read_partition("iid"), 1)) EXPECT_EQ(shard.size(), 143u);
  const auto sizes = [](const Partition& shards) {
    std::vector<std::size_t> result;
    for (const auto& shard : shards) result.push_back(shard.size());
    return result;
  };
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes(partition(600, 3, read_partition("proportional"), 1, {.speed = {1, 2, 3}})),
            (Sizes{100, 200, 300}));
  EXPECT_EQ(sizes(partition(600, 3, read_partition("sizes:[10, 500, 90]"), 1)), (Sizes{10, 500, 90}));
  EXPECT_EQ(sizes(partition(600, 2, read_partition("sizes:[0.25,0.75]"), 1)), (Sizes{150, 450}));
}

TEST(Partition, ClassesGivesSoManyToEachNode) {
  for (const auto& shard : partition(1000, 20, read_partition("classes:2"), 1, hints_for(20))) {
    std::set<std::int64_t> seen;
    for (const std::uint32_t sample : shard) seen.insert(label(sample));
    EXPECT_EQ(seen.size(), 2u);
    EXPECT_EQ(shard.size(), 50u);
  }
}

// A node's fraction of a class has mean 1/M and variance (1/M)(1 - 1/M)/(M alpha + 1). The
// fractions of one class add up to 1, so two of them have covariance -1/M^2/(M alpha + 1).
TEST(Partition, DirichletMatchesItsExpectation) {
  constexpr int kNodes = 4, kSeeds = 400;
  constexpr std::size_t kSamples = 10000;  // 1000 of each class: rounding is far below the spread
  for (const double alpha : {0.1, 0.5, 1.0, 10.0}) {
    SCOPED_TRACE(alpha);
    double mean = 0, square = 0, product = 0;
    const double count = kSeeds * kClasses;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Partition shards = partition(
          kSamples, kNodes, read_partition("dirichlet:" + std::to_string(alpha)), seed, hints_for(kNodes));
      std::array<std::array<double, kNodes>, kClasses> parts{};
      for (std::size_t node = 0; node < kNodes; ++node)
        for (const std::uint32_t sample : shards[node])
          parts[static_cast<std::size_t>(label(sample))][node] += 1e-3;
      for (const auto& part : parts) {
        mean += part[1] / count;
        square += std::pow(part[1] - 0.25, 2) / count;
        product += (part[1] - 0.25) * (part[3] - 0.25) / count;
      }
    }
    const double spread = 1 / (kNodes * alpha + 1);
    const double deviation = std::sqrt(0.25 * 0.75 * spread);
    EXPECT_NEAR(mean, 0.25, 4 * deviation / std::sqrt(count));  // four standard errors
    EXPECT_NEAR(square, deviation * deviation, 0.1 * deviation * deviation + 1e-5);
    EXPECT_NEAR(product, -spread / 16, 0.15 * spread / 16 + 1e-5);
  }
}

TEST(Partition, MixesTheClasses) {
  // Samples are sorted by class: each of 10 nodes must still hold about a tenth of each class.
  for (const auto& shard : partition(10000, 10, read_partition("iid"), 1)) {
    const auto low = std::count_if(shard.begin(), shard.end(), [](std::uint32_t i) { return i < 1000; });
    EXPECT_NEAR(static_cast<double>(low), 100, 50);
  }
}

TEST(Partition, RefusesInOneSentence) {
  EXPECT_NE(refusal(3, 4, "iid").find("3 samples cannot be divided among 4 nodes"), std::string::npos);
  EXPECT_NE(refusal(3, 0, "iid").find("cluster.nodes is 0"), std::string::npos);
  EXPECT_EQ(refusal(30, 4, "idd"), "data.partition 'idd' is unknown; did you mean 'iid'?");
  EXPECT_NE(refusal(30, 2, "sizes:[10,10]").find("adds up to 20 and there are 30 samples"),
            std::string::npos);
  EXPECT_NE(refusal(30, 2, "sizes:[10,10,10]").find("has 3 sizes for 2 nodes"), std::string::npos);
  EXPECT_NE(refusal(30, 2, "sizes:[10,x]").find("needs a number above 0"), std::string::npos);
  EXPECT_NE(refusal(30, 2, "sizes:[30,0]").find("needs a number above 0"), std::string::npos);
  EXPECT_NE(refusal(30, 2, "sizes:[14.5,15.5]").find("whole numbers"), std::string::npos);
  EXPECT_NE(refusal(30, 2, "dirichlet:0").find("needs a number from"), std::string::npos);
  EXPECT_NE(refusal(30, 2, "dirichlet:nan").find("needs a number from"), std::string::npos);
  EXPECT_NE(refusal(30, 2, "dirichlet").find("is unknown"), std::string::npos);
  EXPECT_NE(refusal(30, 2, "folders").find("needs data.path"), std::string::npos);
}

TEST(Partition, AnEpochLastsAsLongAsTheLargestShard) {
  EXPECT_EQ(steps_per_epoch({{1, 2, 3}, {4, 5}}, 2), 2u);
  EXPECT_EQ(steps_per_epoch({{1, 2, 3}, {4, 5}}, 3), 1u);
  EXPECT_EQ(steps_per_epoch(partition(60000, 4, read_partition("iid"), 1), 25), 600u);
  EXPECT_EQ(steps_per_epoch({}, 3), 0u);
  EXPECT_THROW(steps_per_epoch({{1}}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace veche
