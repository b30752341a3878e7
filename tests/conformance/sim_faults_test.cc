// Hosts that fail and return in virtual time: which nodes wait, which continue, and that runs are
// repeatable.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/async_forms.h"
#include "tests/support/simulated.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::configured;
using testing::joined;
using testing::simulate;
using testing::Simulated;

constexpr int kSteps = 40;
constexpr double kPass = 0.1;

const Assignments kFour = {"model.name=quadratic",
                           "model.a=[1,1,1,1]",
                           "model.b=[1,1,1,1]",
                           "optimizer.name=sgd",
                           "optimizer.lr=0.05",
                           "run.steps=" + std::to_string(kSteps),
                           "network.seconds_per_step=" + std::to_string(kPass)};
const std::string kAway = R"(network.loss_of_nodes={node = 3, at = "1.05s", for = "10s"})";
const std::string kGone = R"(network.loss_of_nodes={node = 3, at = "1.05s"})";
const std::string kRandom = R"(network.loss_of_nodes={every = "2s", for = "500ms"})";

// All nodes wait exactly as long as the host is down.
TEST(SimFaults, NodesInStepWaitForAHostThatIsAway) {
  for (const char* strategy :
       {"allreduce", "consensus", "parameter-server", "gossip", "local-sgd", "moshpit"}) {
    const Assignments run = joined(kFour, {std::string("strategy.name=") + strategy});
    const Simulated quiet = simulate(configured(run));
    const Simulated away = simulate(configured(joined(run, {kAway})));
    EXPECT_EQ(away.failure, "") << strategy;
    EXPECT_EQ(away.parameters, quiet.parameters) << strategy;
    EXPECT_NEAR(away.seconds, quiet.seconds + 10, 0.02) << strategy;
  }
}

// The others make the steps of the failed host, and the run takes about as long as with three
// nodes.
TEST(SimFaults, AsynchronousNodesGoOnWithoutAHostThatIsAway) {
  for (const Assignments& variant : testing::async_variants()) {
    const std::string name = testing::name_of(variant);
    if (name.find("hogwild") != std::string::npos) continue;
    // Bounded staleness, and a server that needs all but one, wait for the third.
    const bool waits = name.find("ssp") != std::string::npos && name.find("inf") == std::string::npos;
    const Assignments run = joined(kFour, variant);
    const Simulated quiet = simulate(configured(run));
    const Simulated away = simulate(configured(joined(run, {kAway})));
    EXPECT_EQ(away.failure, "") << name;
    EXPECT_EQ(away.stopped, "steps") << name;
    const std::uint64_t all = std::accumulate(away.steps.begin(), away.steps.end(), std::uint64_t{0});
    EXPECT_GE(all, 4U * kSteps) << name;
    if (waits || away.steps[3] >= kSteps) continue;
    EXPECT_LT(away.steps[3], away.steps[0]) << name;
    EXPECT_LT(away.seconds, quiet.seconds + 8) << name;
  }
}

// A new copy pulls once, not in every step while its node is silent.
TEST(SimFaults, CopiesOfAHostThatIsAwayPullNobodyAway) {
  const Assignments run =
      joined(kFour, {"strategy.name=consensus", "strategy.async=true", "compress.codec=int8",
                     "compress.small=0", "model.b=[-1,0,0,1]", "optimizer.lr=0.002", "run.steps=3000"});
  const Simulated away = simulate(configured(joined(
      run,
      {R"(network.loss_of_nodes=[{node = 3, at = "10.05s", for = "100s"}, {node = 3, at = "150.05s", for = "100s"}])"})));
  EXPECT_EQ(away.failure, "");
  for (const auto& node : away.parameters)
    for (const float x : node) EXPECT_LT(std::abs(x), 1) << "outside of all optima";
}

// Synchronous nodes cannot continue without it. Asynchronous nodes could, but the coordinator,
// which counts steps and evaluates models, needs all.
TEST(SimFaults, AHostThatIsGoneForGoodEndsTheRunWithItsName) {
  std::vector<Assignments> variants;
  for (const char* strategy :
       {"allreduce", "consensus", "parameter-server", "gossip", "local-sgd", "moshpit"})
    variants.push_back({std::string("strategy.name=") + strategy});
  for (const Assignments& variant : testing::async_variants())
    if (testing::name_of(variant).find("hogwild") == std::string::npos) variants.push_back(variant);
  for (const Assignments& variant : variants) {
    const std::string told = simulate(configured(joined(joined(kFour, variant), {kGone}))).failure;
    EXPECT_NE(told.find("node 3 is gone"), std::string::npos) << testing::name_of(variant) << ": " << told;
  }
}

// Which nodes meet depends on when hosts are down, and that only on the seed.
TEST(SimFaults, AsynchronousRunsWithRandomLossesRepeatThemselves) {
  for (const Assignments& variant : testing::async_variants()) {
    const std::string name = testing::name_of(variant);
    if (name.find("hogwild") != std::string::npos) continue;
    const Assignments run = joined(joined(kFour, variant), {kRandom});
    const Simulated once = simulate(configured(run));
    EXPECT_EQ(once.failure, "") << name;
    EXPECT_EQ(once.stopped, "steps") << name;
    EXPECT_GE(std::accumulate(once.steps.begin(), once.steps.end(), std::uint64_t{0}), 4U * kSteps) << name;
    const Simulated again = simulate(configured(run));
    EXPECT_EQ(again.seconds, once.seconds) << name;
    EXPECT_EQ(again.steps, once.steps) << name;
    EXPECT_EQ(again.parameters, once.parameters) << name;
    EXPECT_NE(simulate(configured(joined(run, {"run.seed=2"}))).seconds, once.seconds) << name;
  }
}

TEST(SimFaults, RandomLossesRepeatThemselvesAndChangeNoResult) {
  const Assignments common = joined(kFour, {"strategy.name=consensus"});
  const Simulated quiet = simulate(configured(common));
  const Simulated once = simulate(configured(joined(common, {kRandom})));
  EXPECT_EQ(once.failure, "");
  EXPECT_EQ(once.parameters, quiet.parameters);
  EXPECT_GT(once.seconds, quiet.seconds + 0.4);
  EXPECT_EQ(simulate(configured(joined(common, {kRandom}))).seconds, once.seconds);
  EXPECT_NE(simulate(configured(joined(common, {kRandom, "run.seed=2"}))).seconds, once.seconds);
}

}  // namespace
}  // namespace veche
