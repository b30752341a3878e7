// Strategies against independent numbers: the rules are in docs/oracles.md, and oracles.py derives
// every number from them in exact fractions.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/support/train.h"
#include "veche/random.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;
using testing::ToyLearner;

std::vector<double> first_coordinates(const Assignments& assignments) {
  std::vector<double> result;
  for (const auto& node : testing::train(assignments).parameters) result.push_back(node.front());
  return result;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "node " << i;
}

const Assignments kQ4 = {"model.name=quadratic", "model.a=[1,2,3,4]", "model.b=[1,-1,2,0]",
                         "optimizer.name=sgd", "strategy.name=consensus"};

TEST(Q4, GradientTracking) {
  const Assignments tracking = joined(kQ4, {"optimizer.lr=0.05", "strategy.correction=gradient-tracking"});
  expect_near(first_coordinates(joined(tracking, {"run.steps=1"})), {.05, -.1, .3, 0}, 1e-7);
  expect_near(first_coordinates(joined(tracking, {"run.steps=2"})), {-.035833, .176667, .088333, .233333},
              1e-6);
  // The exact error is 7.33e-7; single precision adds a little.
  expect_near(first_coordinates(joined(tracking, {"run.steps=100"})), {.5, .5, .5, .5}, 1.2e-6);
}

TEST(Q4, D2) {
  const Assignments d2 = joined(kQ4, {"optimizer.lr=0.1", "strategy.correction=d2"});
  expect_near(first_coordinates(joined(d2, {"run.steps=1"})), {1.0 / 30, -1.0 / 60, 11.0 / 30, 7.0 / 60},
              1e-7);
  // Below 1e-12 in exact arithmetic.
  expect_near(first_coordinates(joined(d2, {"run.steps=100"})), {.5, .5, .5, .5}, 3e-7);
}

// The mean of the models follows the mean gradient: it stays without a rate, moves to the common
// optimum with one, and stays there. In single precision, for any graph.
TEST(D2, TheMeanMovesByNothingButTheGradients) {
  constexpr std::size_t kLength = 5;
  const std::vector<std::string> graphs{"ring", "complete", "path", "star", "hypercube", "exponential"};
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const int nodes = seed % 2 == 0 ? 4 : 6;
    const double rate = std::vector{0.0, 0.01, 0.001, 0.1}[seed / 2 % 4];
    const std::string& graph = graphs[seed % graphs.size()];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + graph + ", rate " + std::to_string(rate));
    std::vector<double> start(kLength), optimum(kLength), curvature(kLength);
    std::vector<std::vector<float>> x, a, b;
    for (int node = 0; node < nodes; ++node) {
      RandomStream random(seed, "d2", static_cast<std::uint64_t>(node));
      const auto drawn = [&](double least, double most) {
        std::vector<float> all;
        for (std::size_t i = 0; i < kLength; ++i)
          all.push_back(static_cast<float>(least + (most - least) * random.uniform()));
        return all;
      };
      x.push_back(drawn(-1, 1));
      a.push_back(drawn(0.5, 2));
      b.push_back(drawn(-1, 2));
      for (std::size_t i = 0; i < kLength; ++i) {
        start[i] += static_cast<double>(x.back()[i]) / nodes;
        curvature[i] += static_cast<double>(a.back()[i]);
        optimum[i] += static_cast<double>(a.back()[i]) * static_cast<double>(b.back()[i]);
      }
    }
    const auto learner = [&](NodeId id) {
      const auto node = static_cast<std::size_t>(id.value);
      return std::make_unique<ToyLearner>(x[node], [&, node](std::span<const float> at, std::span<float> g) {
        for (std::size_t i = 0; i < at.size(); ++i) g[i] = a[node][i] * (at[i] - b[node][i]);
      });
    };
    const auto result = testing::train(
        {"cluster.nodes=" + std::to_string(nodes), "strategy.name=consensus", "strategy.correction=d2",
         "topology.graph=" + graph, "optimizer.name=sgd", "optimizer.lr=" + std::to_string(rate),
         rate == 0.001 ? "run.steps=12000" : "run.steps=4000"},
        learner);
    for (std::size_t i = 0; i < kLength; ++i) {
      const double expected = rate == 0 ? start[i] : optimum[i] / curvature[i];
      // The gradient cannot see half a unit in the last place per step; a small rate sees less.
      // Mixing itself loses nothing: without a rate the models end within a few last digits of the
      // mean.
      const double within = rate == 0 ? 5e-7 : std::max(2e-6, 6e-8 / rate);
      for (const auto& node : result.parameters) EXPECT_NEAR(node[i], expected, within);
    }
  }
}

const Assignments kTwo = {"model.name=quadratic", "model.a=[1,4]",    "model.b=[0,1]",
                          "optimizer.name=sgd",   "optimizer.lr=0.1", "strategy.name=local-sgd"};

TEST(LocalSgd, FixedPoints) {
  const std::vector<std::pair<std::string, double>> points = {
      {"1", .8}, {"2", .771084}, {"4", .716792}, {"10", .604126}, {"\"end\"", .5}};
  for (const auto& [period, expected] : points) {
    const auto x = first_coordinates(joined(kTwo, {"strategy.period=" + period, "run.steps=1000"}));
    expect_near(x, {expected, expected}, 2e-6);
  }
}

TEST(LocalSgd, DiLoCo) {
  const Assignments diloco = joined(kTwo, {"strategy.period=10", "strategy.outer=nesterov",
                                           "strategy.outer_lr=0.7", "strategy.outer_momentum=0.9"});
  const std::vector<double> rounds = {.660979, .880561, .805200, .660644};
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    const auto x = first_coordinates(joined(diloco, {"run.steps=" + std::to_string(10 * (k + 1))}));
    expect_near(x, {rounds[k], rounds[k]}, 2e-6);
  }
  expect_near(first_coordinates(joined(diloco, {"run.steps=5000"})), {.604126, .604126}, 2e-6);
}

TEST(LocalSgd, PhasesOfPeriods) {
  // Epochs are steps here: period 1 for five steps, then 10.
  const auto listed = first_coordinates(joined(kTwo, {"strategy.period=[[0,1],[5,10]]", "run.steps=25"}));
  const auto warm =
      first_coordinates(joined(kTwo, {"strategy.period=10", "strategy.warm=5", "run.steps=25"}));
  EXPECT_EQ(listed, warm);
}

// Learners that only hold a number: averaging alone.
std::vector<std::vector<float>> average(const Assignments& assignments, const std::vector<float>& start) {
  const auto still = [](std::span<const float>, std::span<float> g) { std::ranges::fill(g, 0.0F); };
  return testing::train(joined({"cluster.nodes=" + std::to_string(start.size())}, assignments),
                        [&](NodeId node) {
                          return std::make_unique<ToyLearner>(
                              std::vector<float>{start[static_cast<std::size_t>(node.value)]}, still);
                        })
      .parameters;
}

TEST(PushSum, OnADirectedGraph) {
  const std::string file = ::testing::TempDir() + "/push_sum_edges.json";
  std::ofstream(file) << R"({"nodes": 3, "directed": true, "edges": [[0,1],[0,2],[1,2],[2,0]]})";
  const Assignments push{"strategy.name=push-sum", "topology.graph=file:" + file};
  const auto expect = [&](int steps, const std::vector<double>& expected) {
    const auto z = average(joined(push, {"run.steps=" + std::to_string(steps)}), {0, 3, 9});
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(z[i].front(), expected[i], 3e-6) << i;
  };
  expect(1, {27.0 / 5, 9.0 / 5, 9.0 / 2});
  expect(2, {81.0 / 17, 81.0 / 25, 27.0 / 7});
  expect(100, {4, 4, 4});
}

TEST(Moshpit, AFullGridIsExactAfterOneRoundOfItsAxes) {
  const Assignments moshpit{"strategy.name=moshpit", "strategy.grid=[2,3]"};
  for (const auto& node : average(joined(moshpit, {"run.steps=2"}), {1, 2, 3, 4, 5, 6}))
    EXPECT_NEAR(node.front(), 3.5, 1e-6);
  // Five nodes on a grid of six cells: the sum is preserved, and the nodes come to agree.
  double sum = 0;
  for (const auto& node : average(joined(moshpit, {"run.steps=40"}), {1, 2, 3, 4, 5})) {
    EXPECT_NEAR(node.front(), 3, 1e-4);
    sum += node.front();
  }
  EXPECT_NEAR(sum, 15, 1e-5);
}

// E|x-mean|^2 contracts by 1 - lambda2(L)/(2|E|) per random edge: ring8 .963388; complete8 6/7 for
// any x.
TEST(Gossip, ContractsAsPredicted) {
  const std::vector<float> start{1, 0, 0, 0, 0, 0, 0, 0};
  const auto spread = [](const std::vector<std::vector<float>>& nodes) {
    double mean = 0;
    double squares = 0;
    for (const auto& node : nodes) mean += node.front() / 8;
    for (const auto& node : nodes) squares += std::pow(node.front() - mean, 2);
    EXPECT_NEAR(mean, 0.125, 1e-6);
    return squares;
  };
  constexpr int kTicks = 10;
  constexpr int kSeeds = 300;
  double sum = 0;
  for (int seed = 0; seed < kSeeds; ++seed)
    sum += spread(average({"strategy.name=gossip", "topology.graph=complete", "strategy.pairs=1",
                           "run.steps=" + std::to_string(kTicks), "run.seed=" + std::to_string(seed)},
                          start));
  const double expected = 0.875 * std::pow(6.0 / 7, kTicks);
  EXPECT_NEAR(sum / kSeeds, expected, 0.15 * expected);
}

}  // namespace
}  // namespace veche
