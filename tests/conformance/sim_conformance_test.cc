// Every strategy in virtual time, each run in its own process: synchronous ones give the bits of
// threads, the others complete all steps, and a run is repeatable to the last digit.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/seeded.h"
#include "tests/support/simulated.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::Network;
using testing::Simulated;

constexpr int kSteps = 20;

Config problem(const Assignments& variant, int nodes) {
  Config config = testing::seeded_problem(variant, nodes, kSteps);
  config.set("network.seconds_per_step=0.001");
  config.set("network.bandwidth=1Mbps");
  return config;
}

class SimInStep : public ::testing::TestWithParam<Assignments> {};

TEST_P(SimInStep, GivesTheBitsOfThreads) {
  for (const int nodes : {2, 3, 5, 8}) {
    const Config config = problem(GetParam(), nodes);
    const RunResult threads = train_over(Network::quiet, config);
    const Simulated quiet = testing::simulate(config);
    EXPECT_EQ(quiet.failure, "");
    EXPECT_EQ(quiet.stopped, "steps");
    EXPECT_EQ(quiet.parameters, threads.parameters) << nodes;
    EXPECT_GE(quiet.seconds, 0.9999 * kSteps * 0.001);
    EXPECT_EQ(testing::simulate(config).seconds, quiet.seconds);
    EXPECT_EQ(testing::simulate(config, Network::unlucky).parameters, threads.parameters) << nodes;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, SimInStep, ::testing::ValuesIn(testing::seeded_in_step_variants()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

class SimAsync : public ::testing::TestWithParam<Assignments> {};

TEST_P(SimAsync, EndsWithAllStepsAndRepeatsItself) {
  for (const int nodes : {2, 3, 5})
    for (const char* work : {"cluster.work=shared", "cluster.work=equal"}) {
      Config config = problem(GetParam(), nodes);
      config.set(work);
      config.set("cluster.stall=[0.2,0.01]");
      const Simulated once = testing::simulate(config);
      EXPECT_EQ(once.failure, "");
      EXPECT_EQ(once.stopped, "steps");
      std::uint64_t all = 0;
      for (const std::uint64_t steps : once.steps) all += steps;
      const bool serves = std::ranges::find(GetParam(), "strategy.dedicated=true") != GetParam().end();
      EXPECT_GE(all, static_cast<std::uint64_t>(kSteps * (nodes - (serves ? 1 : 0))));
      for (const auto& node : once.parameters)
        for (const float x : node) EXPECT_TRUE(std::isfinite(x));
      const Simulated again = testing::simulate(config);
      EXPECT_EQ(again.parameters, once.parameters);
      EXPECT_EQ(again.seconds, once.seconds);
      EXPECT_EQ(again.bytes, once.bytes);
    }
}

INSTANTIATE_TEST_SUITE_P(Strategies, SimAsync, ::testing::ValuesIn(testing::seeded_async_variants()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

TEST(Simulation, HasNoSharedMemoryForHogwild) {
  const Simulated run = testing::simulate(problem({"strategy.name=hogwild"}, 2));
  EXPECT_NE(run.failure.find("cluster.transport"), std::string::npos) << run.failure;
}

}  // namespace
}  // namespace veche
