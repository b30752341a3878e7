// Every strategy of the registry x every number of nodes x every kind of network, on exact problems. A
// strategy that is added to the registry is tested here without a line of its own.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/problem.h"
#include "veche/comm/faulty/faulty.h"
#include "veche/runtime/registry.h"
#include "veche/runtime/training.h"

namespace veche {
namespace {

struct Case {
  std::string strategy;
  int nodes;
  bool slow_network;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const StrategyInfo& info : strategies()) {
    if (info.name == "hogwild") continue;  // never twice the same: own_pace_test
    for (const int nodes : {1, 2, 3, 4, 5, 7, 8, 16})
      for (const bool slow : {false, true})
        if (nodes > 1 || !info.uses_topology) cases.push_back({info.name, nodes, slow});
  }
  return cases;
}

std::string name_of(const Case& c) {
  std::string name = c.strategy + "_" + std::to_string(c.nodes) + (c.slow_network ? "_slow" : "");
  std::ranges::replace(name, '-', '_');
  return name;
}

class Conformance : public ::testing::TestWithParam<Case> {
 protected:
  static TrainingResult run(const Config& config, bool slow_network) {
    TrainingRequest request;
    request.settings = config.resolve();
    request.keep = false;
    if (slow_network)
      request.network = [](auto inner) {
        return make_faulty(
            std::move(inner),
            {.delay_probability = 0.05, .longest_delay = Time(0.001), .overtake_probability = 0.2});
      };
    return run_training(request);
  }
};

TEST_P(Conformance, TheNetworkNeverChangesTheResult) {
  const Config config = testing::quadratic_problem(GetParam().strategy, GetParam().nodes);
  const TrainingResult quiet = run(config, false);
  const TrainingResult result = run(config, GetParam().slow_network);
  EXPECT_EQ(result.last.stopped, "steps");
  EXPECT_EQ(result.last.step, 60U);
  EXPECT_EQ(result.parameters, quiet.parameters);
  for (const auto& node : result.parameters)
    for (const float x : node) EXPECT_TRUE(std::isfinite(x));
}

TEST_P(Conformance, WithoutARateNothingMoves) {
  Config config = testing::quadratic_problem(GetParam().strategy, GetParam().nodes);
  config.set("optimizer.lr=0");
  config.set("model.x0=0.75");
  for (const auto& node : run(config, GetParam().slow_network).parameters)
    for (const float x : node) EXPECT_NEAR(x, 0.75, 1e-6);
}

TEST_P(Conformance, EqualProblemsKeepNodesTogether) {
  Config config = testing::quadratic_problem(GetParam().strategy, GetParam().nodes);
  testing::make_equal(config, GetParam().nodes);
  const TrainingResult result = run(config, GetParam().slow_network);
  const double expected = 1 - std::pow(0.95, 60);
  for (const auto& node : result.parameters) EXPECT_NEAR(node.front(), expected, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Strategies, Conformance, ::testing::ValuesIn(all_cases()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace veche
