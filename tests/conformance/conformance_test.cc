// Every strategy x every number of nodes x every kind of network, on exact problems. A new strategy
// is tested here automatically. tests/python/embedded.cc runs the same over strategies in Python.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/network.h"
#include "tests/support/problem.h"
#include "tests/support/tested_strategies.h"

namespace veche {
namespace {

using testing::Network;
using testing::train_over;

struct Case {
  std::string strategy;
  int nodes;
  Network network;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const StrategyInfo& info : testing::tested_strategies()) {
    if (info.name == "hogwild") continue;  // not repeatable: see async_test
    for (const int nodes : {1, 2, 3, 4, 5, 7, 8, 16})
      for (const Network network : {Network::quiet, Network::unlucky})
        if (nodes > 1 || !info.uses_topology()) cases.push_back({info.name, nodes, network});
  }
  return cases;
}

std::string name_of(const Case& c) {
  std::string name =
      c.strategy + "_" + std::to_string(c.nodes) + (c.network == Network::unlucky ? "_unlucky" : "");
  std::ranges::replace(name, '-', '_');
  return name;
}

class Conformance : public ::testing::TestWithParam<Case> {};

TEST_P(Conformance, TheNetworkNeverChangesTheResult) {
  const Config config = testing::quadratic_problem(GetParam().strategy, GetParam().nodes);
  const RunResult quiet = train_over(Network::quiet, config);
  const RunResult result = train_over(GetParam().network, config);
  EXPECT_EQ(result.last.stopped, StopReason::steps);
  EXPECT_EQ(result.last.step, 60U);
  EXPECT_EQ(result.parameters, quiet.parameters);
  for (const auto& node : result.parameters)
    for (const float x : node) EXPECT_TRUE(std::isfinite(x));
}

TEST_P(Conformance, WithoutARateNothingMoves) {
  Config config = testing::quadratic_problem(GetParam().strategy, GetParam().nodes);
  config.set("optimizer.lr=0");
  config.set("model.x0=0.75");
  for (const auto& node : train_over(GetParam().network, config).parameters)
    for (const float x : node) EXPECT_NEAR(x, 0.75, 1e-6);
}

TEST_P(Conformance, EqualProblemsKeepNodesTogether) {
  Config config = testing::quadratic_problem(GetParam().strategy, GetParam().nodes);
  testing::make_equal(config, GetParam().nodes);
  const RunResult result = train_over(GetParam().network, config);
  const double expected = 1 - std::pow(0.95, 60);
  for (const auto& node : result.parameters) EXPECT_NEAR(node.front(), expected, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Strategies, Conformance, ::testing::ValuesIn(all_cases()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace veche
