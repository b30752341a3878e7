// Local SGD's further forms and NoLoCo against independent numbers (docs/oracles.md).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/train.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;
using testing::ToyLearner;

std::vector<std::vector<float>> train(const Assignments& assignments) {
  return testing::train(assignments).parameters;
}

// Two layers of one number each, from 1, with gradient 2 at every step.
std::vector<float> streamed(const Assignments& assignments, int nodes, int steps) {
  const auto two = [](std::span<const float>, std::span<float> g) { std::ranges::fill(g, 2.0F); };
  const auto x =
      testing::train(
          joined({"strategy.name=local-sgd", "strategy.period=6", "strategy.fragments=2",
                  "strategy.outer=sgd", "strategy.outer_lr=2", "optimizer.name=sgd", "optimizer.lr=1",
                  "cluster.nodes=" + std::to_string(nodes), "run.steps=" + std::to_string(steps)},
                 assignments),
          [&](NodeId) {
            return std::make_unique<ToyLearner>(std::vector<float>{1, 1}, two);
          })
          .parameters;
  for (const auto& node : x) EXPECT_EQ(node, x.front());
  return x.front();
}

struct Stream {
  Assignments options;
  std::vector<float> first;   // layer 0 after steps 3, 9, 15
  std::vector<float> second;  // layer 1 after steps 6, 12
};

TEST(StreamingDiLoCo, GivesTheNumbersOfThePaperExample) {
  const std::vector<Stream> streams = {
      {{"strategy.delay=0"}, {-11, -35, -59}, {-23, -47}},
      {{"strategy.blend=0.5"}, {-8, -24.5, -40.25}, {-17, -32}},
      {{"strategy.delay=1"}, {-7, -27, -47}, {-19, -39}},
      {{"strategy.delay=1", "strategy.blend=0.5"}, {-6, -21.5, -35.75}, {-15, -29}},
      {{"strategy.delay=2", "strategy.blend=1"}, {-5, -17, -29}, {-11, -23}}};
  for (const int nodes : {1, 2, 4})
    for (const Stream& stream : streams) {
      SCOPED_TRACE(stream.options.back() + ", nodes " + std::to_string(nodes));
      for (std::size_t k = 0; k < 3; ++k)
        EXPECT_EQ(streamed(stream.options, nodes, 3 + 6 * static_cast<int>(k))[0], stream.first[k]);
      for (std::size_t k = 0; k < 2; ++k)
        EXPECT_EQ(streamed(stream.options, nodes, 6 + 6 * static_cast<int>(k))[1], stream.second[k]);
    }
  // Between two averages a step is -2.
  EXPECT_EQ(streamed({}, 2, 1)[0], -1);
  EXPECT_EQ(streamed({}, 2, 2)[0], -3);
}

const Assignments kTwo = {"model.name=quadratic", "model.a=[1,4]",    "model.b=[0,1]",
                          "optimizer.name=sgd",   "optimizer.lr=0.1", "strategy.name=local-sgd"};

// With one fragment, no delay and nothing kept it is local SGD.
TEST(StreamingDiLoCo, OfOneFragmentIsDiLoCo) {
  const Assignments outer{"strategy.period=10", "strategy.outer=nesterov", "run.steps=40"};
  const auto whole = train(joined(kTwo, outer));
  const auto parts = train(joined(joined(kTwo, outer), {"strategy.blend=1e-9"}));
  for (std::size_t node = 0; node < 2; ++node) EXPECT_NEAR(parts[node][0], whole[node][0], 1e-6);
  EXPECT_NEAR(whole[0][0], .660644, 2e-6);
}

// The optimum of the mean is .8; without correction local SGD of period 10 ends at .604126.
TEST(Scaffold, ReachesTheOptimumThatLocalSgdMisses) {
  for (const std::string period : {"2", "4", "10"}) {
    const auto x =
        train(joined(kTwo, {"strategy.period=" + period, "strategy.correction=scaffold", "run.steps=3000"}));
    for (const auto& node : x) EXPECT_NEAR(node[0], .8, 2e-6) << period;
  }
}

// From the common model c a node goes to y + r^K (c - y), where y = (a b + mu c) / (a + mu) and r =
// 1 - lr (a + mu); the fixed point is the c that is the mean of the nodes' results.
TEST(FedProx, HasTheFixedPointOfTheClosedForm) {
  constexpr double kRate = .1;
  constexpr int kPeriod = 10;
  for (const double mu : {0.0, 0.5, 2.0}) {
    double slope = 0, constant = 0;
    for (const auto& [a, b] : {std::pair(1.0, 0.0), std::pair(4.0, 1.0)}) {
      const double r = std::pow(1 - kRate * (a + mu), kPeriod);
      slope += ((1 - r) * mu / (a + mu) + r) / 2;
      constant += (1 - r) * a * b / (a + mu) / 2;
    }
    const auto x = train(
        joined(kTwo, {"strategy.period=10", "strategy.proximal=" + std::to_string(mu), "run.steps=3000"}));
    for (const auto& node : x) EXPECT_NEAR(node[0], constant / (1 - slope), 3e-6) << mu;
  }
}

// One round of the rules of Reddi et al., in double precision.
double after_rounds(const std::string& rule, int rounds) {
  constexpr double kRate = .1, kBeta1 = .9, kBeta2 = .99, kEpsilon = 1e-3, kOuter = .05;
  double c = 0, v = 0, q = kEpsilon * kEpsilon;
  for (int round = 0; round < rounds; ++round) {
    double mean = 0;
    for (const auto& [a, b] : {std::pair(1.0, 0.0), std::pair(4.0, 1.0)})
      mean += (b + std::pow(1 - kRate * a, 10) * (c - b)) / 2;
    const double s = c - mean;
    v = kBeta1 * v + (1 - kBeta1) * s;
    if (rule == "adam")
      q = kBeta2 * q + (1 - kBeta2) * s * s;
    else
      q -= (1 - kBeta2) * s * s * (q > s * s ? 1 : -1);
    c -= kOuter * v / (std::sqrt(q) + kEpsilon);
  }
  return c;
}

TEST(FedOpt, AdamAndYogiFollowThePaper) {
  for (const std::string rule : {"adam", "yogi"})
    for (const int rounds : {1, 2, 5, 20}) {
      const auto x =
          train(joined(kTwo, {"strategy.period=10", "strategy.outer=" + rule, "strategy.outer_lr=0.05",
                              "run.steps=" + std::to_string(10 * rounds)}));
      for (const auto& node : x)
        EXPECT_NEAR(node[0], after_rounds(rule, rounds), 1e-5) << rule << " " << rounds;
    }
}

// Two nodes are always a pair, so their slow weights stay equal: local SGD with outer momentum.
TEST(NoLoCo, OfTwoNodesIsLocalSgdWithMomentum) {
  const Assignments outer{"strategy.outer_lr=0.7", "strategy.outer_momentum=0.5", "run.steps=50"};
  const auto expected = train(joined(joined(kTwo, outer), {"strategy.period=10", "strategy.outer=momentum"}));
  const auto x = train(
      joined(joined(kTwo, outer), {"strategy.name=gossip", "strategy.every=10", "strategy.outer=nesterov"}));
  for (const auto& node : x) EXPECT_NEAR(node[0], expected[0][0], 1e-6);
}

// Pairs change, and all nodes come together at the mean, which nothing moves without a rate.
TEST(NoLoCo, DrawsAllNodesTogether) {
  const std::vector<float> start{0, 4, -2, 6};
  const auto still = [](std::span<const float>, std::span<float> g) { std::ranges::fill(g, 0.0F); };
  const auto x = testing::train({"strategy.name=gossip", "strategy.outer=nesterov", "topology.graph=complete",
                                 "cluster.nodes=4", "run.steps=400"},
                                [&](NodeId node) {
                                  return std::make_unique<ToyLearner>(
                                      std::vector<float>{start[static_cast<std::size_t>(node.value)]}, still);
                                })
                     .parameters;
  for (const auto& node : x) EXPECT_NEAR(node[0], 2, 1e-4);
}

}  // namespace
}  // namespace veche
