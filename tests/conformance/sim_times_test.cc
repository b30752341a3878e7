// Virtual seconds against closed forms: a star of split-duplex links of B bytes/s and L seconds,
// SimGrid's plain model without cross-traffic, where a message alone takes S/B + 2L and flows share
// a link equally. See docs/oracles.md.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/simulated.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::configured;
using testing::joined;
using testing::simulate;

constexpr double kBandwidth = 125e6;  // 1 Gbit/s
constexpr double kLatency = 50e-6;
constexpr int kLength = 262'144;  // floats
constexpr double kBytes = 4.0 * kLength;

const Assignments kStar = {"network.bandwidth=1Gbps",    "network.latency=50us", "network.model=CM02",
                           "network.crosstraffic=false", "model.name=vector",    "run.steps=3",
                           "optimizer.name=sgd"};

double seconds_per_step(const Assignments& assignments, int length = kLength) {
  const testing::Simulated run =
      simulate(configured(joined(joined(kStar, {"model.length=" + std::to_string(length)}), assignments)));
  EXPECT_EQ(run.failure, "");
  return run.seconds / 3;
}

void expect_close(double found, double expected) { EXPECT_NEAR(found, expected, 1e-6 * expected); }

Assignments all_reduce(const std::string& algorithm, int nodes) {
  return {"strategy.name=allreduce", "strategy.algorithm=" + algorithm,
          "cluster.nodes=" + std::to_string(nodes), "strategy.bucket=1000"};
}

TEST(SimTimes, RingAllReduce) {
  expect_close(seconds_per_step(all_reduce("ring", 4)), 0.013182912);
  expect_close(seconds_per_step(all_reduce("ring", 8)), 0.016080064);
  expect_close(seconds_per_step(all_reduce("ring", 16)), 0.01872864);
  for (const int nodes : {2, 4, 8, 16, 32})
    expect_close(seconds_per_step(all_reduce("ring", nodes)),
                 2 * (nodes - 1) * (2 * kLatency + kBytes / (nodes * kBandwidth)));
}

TEST(SimTimes, RingAllReduceWithTheMeasuredModel) {
  const Assignments lv08 = {"network.model=LV08", "network.crosstraffic=true"};
  for (const int nodes : {4, 8})
    expect_close(seconds_per_step(joined(all_reduce("ring", nodes), lv08)),
                 2 * (nodes - 1) * (1.05 * kBytes / (nodes * 0.97 * kBandwidth) + 2 * 13.01 * kLatency));
}

TEST(SimTimes, HalvingAndDoubling) {
  for (const int nodes : {2, 4, 8, 16})
    expect_close(seconds_per_step(all_reduce("halving-doubling", nodes)),
                 2 * (kBytes * (1 - 1.0 / nodes) / kBandwidth + 2 * kLatency * std::log2(nodes)));
}

// Sums go to node 0 in d = log2 N rounds, one message each. It sends the result to its d children
// at once, the first of them to d-1, and so on: their messages share a link.
TEST(SimTimes, Tree) {
  for (const int nodes : {2, 4, 8, 16}) {
    const double d = std::log2(nodes);
    expect_close(seconds_per_step(all_reduce("tree", nodes)),
                 (d + d * (d + 1) / 2) * kBytes / kBandwidth + 2 * d * 2 * kLatency);
  }
}

// Three rounds in 24 steps of 10 ms; a ring takes 13.2 ms. The nodes wait only for what is left of
// it after `delay` steps.
TEST(SimTimes, FragmentsAreSentWhileNodesTrain) {
  constexpr double kRing = 0.013182912, kStep = 0.01;
  const auto run = [](int delay) {
    return simulate(configured(joined(
        kStar, {"strategy.name=local-sgd", "strategy.period=8", "strategy.blend=0.5", "cluster.nodes=4",
                "strategy.delay=" + std::to_string(delay), "network.seconds_per_step=0.01", "run.steps=24",
                "model.length=" + std::to_string(kLength)})));
  };
  const std::vector<testing::Simulated> runs{run(0), run(1), run(2), run(5)};
  for (const testing::Simulated& one : runs) {
    ASSERT_EQ(one.failure, "");
    EXPECT_NEAR(static_cast<double>(one.bytes), 3 * 6 * kBytes, 1e-3 * kBytes);
  }
  const double start = runs[3].seconds - 24 * kStep;  // comparing the first models
  EXPECT_GT(start, 0);
  EXPECT_LT(start, 10 * 2 * kLatency);
  EXPECT_NEAR(runs[0].seconds, 24 * kStep + 3 * kRing + start, 1e-5);
  EXPECT_NEAR(runs[1].seconds, 24 * kStep + 3 * (kRing - kStep) + start, 1e-5);
  EXPECT_NEAR(runs[2].seconds, 24 * kStep + start, 1e-5);
}

TEST(SimTimes, OneServer) {
  for (const int workers : {2, 4, 8}) {
    const double seconds = seconds_per_step({"strategy.name=parameter-server", "strategy.dedicated=true",
                                             "cluster.nodes=" + std::to_string(workers + 1)});
    EXPECT_NEAR(seconds, 2 * (workers * kBytes / kBandwidth + 2 * kLatency), 1e-4 * seconds) << workers;
  }
}

// A node sends its vector to both neighbours over one link, and gets theirs over it.
TEST(SimTimes, ConsensusOnARing) {
  for (const int nodes : {4, 9})
    expect_close(
        seconds_per_step({"strategy.name=consensus", "topology.graph=ring:" + std::to_string(nodes)}),
        2 * kBytes / kBandwidth + 2 * kLatency);
}

TEST(SimTimes, ComputingAddsWhatItCosts) {
  const Assignments ring = all_reduce("ring", 4);
  const double exchange = seconds_per_step(ring);
  expect_close(seconds_per_step(joined(ring, {"network.seconds_per_step=0.5"})), exchange + 0.5);
  // The slow node takes four times as long at every fourth step: the others wait there.
  expect_close(seconds_per_step(joined(ring, {"network.seconds_per_step=0.5", "cluster.speed=[1,1,1,0.25]",
                                              "cluster.train_every=1"})),
               exchange + 2);
}

// Nodes that do not learn have short vectors that count as long ones.
TEST(SimTimes, WithoutLearningItTakesAsLong) {
  for (const Assignments& variant :
       {all_reduce("ring", 8), all_reduce("halving-doubling", 8), all_reduce("tree", 8),
        Assignments{"strategy.name=consensus", "topology.graph=torus:3x4"},
        Assignments{"strategy.name=parameter-server", "cluster.nodes=5", "strategy.dedicated=true"},
        Assignments{"strategy.name=local-sgd", "strategy.period=1", "cluster.nodes=8"}})
    expect_close(seconds_per_step(joined(variant, {"network.learning=none"})), seconds_per_step(variant));
}

TEST(SimTimes, WithoutLearningAsMuchIsSent) {
  const Assignments many =
      joined(kStar, {"model.length=1475328", "strategy.name=consensus", "topology.graph=torus:4x4"});
  const testing::Simulated real = simulate(configured(many));
  const testing::Simulated none = simulate(configured(joined(many, {"network.learning=none"})));
  EXPECT_EQ(none.bytes, real.bytes);
  EXPECT_EQ(none.messages, real.messages);
  EXPECT_EQ(real.bytes, 3ULL * 16 * 4 * 4 * 1'475'328);
}

TEST(SimTimes, AFullNetworkSharesNothing) {
  expect_close(
      seconds_per_step({"strategy.name=consensus", "topology.graph=complete:5", "network.shape=full"}),
      kBytes / kBandwidth + kLatency);
}

}  // namespace
}  // namespace veche
