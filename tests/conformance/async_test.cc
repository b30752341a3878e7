// Asynchronous strategies: their theoretical properties, and that no run hangs.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "tests/support/async_forms.h"
#include "tests/support/network.h"
#include "tests/support/train.h"
#include "veche/errors.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;
using testing::name_of;
using testing::Network;

const Assignments kTwo = {"model.name=quadratic", "model.a=[1,4]", "model.b=[0,1]", "optimizer.name=sgd"};
const Assignments kFour = {"model.name=quadratic", "model.a=[1,2,3,4]", "model.b=[1,-1,2,0]",
                           "optimizer.name=sgd", "optimizer.lr=0.05"};

RunResult train_on(const Assignments& assignments, Network network = Network::quiet) {
  Config config;
  for (const std::string& assignment : assignments) config.set(assignment);
  return testing::train_over(network, config);
}

std::uint64_t all_steps(const RunResult& result) {
  std::uint64_t steps = 0;
  for (const NodeReport& node : result.last.nodes) steps += node.steps;
  return steps;
}

TEST(Async, EveryFormComesNearTheOptimum) {
  for (const Assignments& variant : testing::async_variants())
    for (const int nodes : {1, 2, 3, 4, 5, 8}) {
      if (nodes == 1 && name_of(variant).find("async=true") != std::string::npos) continue;  // needs a graph
      std::string ones = "[1", halves = "[0.5";
      for (int i = 1; i < nodes; ++i) ones += ",1", halves += ",0.5";
      Assignments all = joined({"model.name=quadratic", "model.a=" + ones + "]", "model.b=" + halves + "]",
                                "optimizer.name=sgd", "optimizer.lr=0.05", "run.steps=400"},
                               variant);
      if (nodes < 3)
        for (std::string& a : all)
          if (a.starts_with("strategy.servers")) a = "strategy.servers=1";
      const RunResult result = train_on(all);
      EXPECT_EQ(result.last.stopped, StopReason::steps);
      EXPECT_GE(all_steps(result), 400U * static_cast<unsigned>(nodes)) << name_of(variant);
      for (const auto& x : result.parameters) EXPECT_NEAR(x.front(), 0.5, 0.1) << name_of(variant) << nodes;
    }
}

TEST(Async, WithoutARateNothingMoves) {
  for (const Assignments& variant : testing::async_variants())
    for (const auto& x :
         train_on(joined(joined(kFour, {"optimizer.lr=0", "model.x0=0.75", "run.steps=40"}), variant))
             .parameters)
      EXPECT_NEAR(x.front(), 0.75, 1e-6) << name_of(variant);
}

// Random stalls, lost results, a slow network, unequal speeds.
TEST(Async, TwoHundredUnluckyRunsEnd) {
  const auto all = testing::async_variants();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Assignments& variant = all[seed % all.size()];
    const bool hogwild = variant.front() == "strategy.name=hogwild";
    const RunResult result = train_on(
        joined(joined(kFour, {"run.seed=" + std::to_string(seed), "run.steps=25", "cluster.stall=[0.1,0.002]",
                              "cluster.lose=0.2", "cluster.speed=[1,0.5,1,0.1]"}),
               variant),
        seed % 3 == 0 && !hogwild ? Network::unlucky : Network::quiet);
    EXPECT_EQ(result.last.stopped, StopReason::steps);
    for (const auto& x : result.parameters) EXPECT_TRUE(std::isfinite(x.front())) << name_of(variant) << seed;
  }
}

TEST(Async, ADelayIsStableBelowTheBoundAndNotAbove) {
  for (int delay = 0; delay <= 5; ++delay) {
    const double bound = 2 * std::sin(std::numbers::pi / (2 * (2 * delay + 1)));
    for (const char* update : {"sync", "async"}) {
      const auto end = [&](double rate) {
        try {
          const auto result = testing::train(
              {"model.name=quadratic", "model.a=[1]", "model.b=[0]", "model.x0=1", "optimizer.name=sgd",
               "optimizer.lr=" + std::to_string(rate), "strategy.name=parameter-server", "cluster.work=equal",
               std::string("strategy.update=") + update, "strategy.delay=" + std::to_string(delay),
               "run.steps=2000"});
          return std::abs(static_cast<double>(result.parameters.front().front()));
        } catch (const Diverged&) {
          return std::numeric_limits<double>::infinity();
        }
      };
      EXPECT_LT(end(0.97 * bound), 1e-3) << delay << update;
      EXPECT_GT(end(1.03 * bound), 1e3) << delay << update;
    }
  }
}

TEST(Async, EqualStepsAreExact) {
  for (const Assignments& variant : testing::async_variants()) {
    const RunResult result = train_on(joined(joined(kFour, {"cluster.work=equal", "run.steps=50"}), variant));
    for (const NodeReport& node : result.last.nodes) EXPECT_EQ(node.steps, 50U) << name_of(variant);
  }
}

TEST(Async, SspWithoutALeadIsSynchronousToTheBit) {
  for (const char* servers : {"strategy.servers=1", "strategy.servers=3"}) {
    const Assignments common = joined(kFour, {"strategy.name=parameter-server", servers, "run.steps=50"});
    EXPECT_EQ(testing::train(joined(common, {"strategy.update=ssp", "strategy.staleness=0"})).parameters,
              testing::train(joined(common, {"strategy.update=sync"})).parameters);
  }
}

TEST(Async, SspNeverExceedsItsBound) {
  for (const unsigned bound : {1U, 3U}) {
    Assignments eight = {"model.name=quadratic",      "model.a=[1,1,1,1,1,1,1,1]",
                         "model.b=[0,1,2,3,4,5,6,7]", "optimizer.name=sgd",
                         "optimizer.lr=0.01",         "strategy.name=parameter-server",
                         "strategy.update=ssp",       "run.steps=1250",
                         "cluster.stall=[0.02,0.002]"};
    eight.push_back("strategy.staleness=" + std::to_string(bound));
    const RunResult result = testing::train(eight);  // the server throws on a greater lead
    EXPECT_EQ(all_steps(result), 10'000U);
    EXPECT_EQ(total_staleness(result.last).lead, bound) << "stalls should have used all of it";
  }
}

TEST(Async, BackupWorkersLeaveTheLateOut) {
  const RunResult result =
      testing::train(joined(kFour, {"strategy.name=parameter-server", "strategy.backup=1", "run.steps=200",
                                    "cluster.stall=[0.05,0.002]"}));
  const Staleness staleness = total_staleness(result.last);
  EXPECT_GT(staleness.dropped, 0U);
  EXPECT_EQ(staleness.most, 0U);
}

TEST(Async, ElasticAveragingRestsWhereTheoryPutsIt) {
  const auto result =
      testing::train(joined(kTwo, {"optimizer.lr=0.1", "strategy.name=local-sgd", "strategy.period=1",
                                   "strategy.elastic=0.2", "strategy.centre_rate=0.4", "run.steps=300"}));
  EXPECT_NEAR(result.parameters[0].front(), 4.0 / 9, 1e-6);
  EXPECT_NEAR(result.parameters[1].front(), 8.0 / 9, 1e-6);
}

// The learners do not learn: only averaging changes the models. The number of averages depends on
// the machine.
TEST(Async, AsynchronousGossipPreservesTheSumAndAgrees) {
  constexpr int kNodes = 16;
  for (const char* graph : {"ring:16", "star:16", "complete:16", "regular:16:4"}) {
    std::uint64_t averages = 0;
    for (int run = 0; averages < 20'000 && run < 40; ++run) {
      const RunResult result =
          testing::train({"cluster.nodes=16", std::string("topology.graph=") + graph, "strategy.name=gossip",
                          "strategy.async=true", "optimizer.name=sgd", "optimizer.lr=0", "run.steps=3000",
                          "run.seed=" + std::to_string(run + 1), "cluster.stall=[0.3,0.0005]"},
                         [](NodeId node) {
                           return std::make_unique<testing::ToyLearner>(
                               std::vector<float>{static_cast<float>(node.value), 1.0F},
                               [](auto, std::span<float> g) { std::ranges::fill(g, 1.0F); });
                         });
      averages += total_sent(result.last).messages / 2 - total_staleness(result.last).dropped;
      double sum = 0;
      for (const auto& x : result.parameters) {
        sum += static_cast<double>(x[0]);
        EXPECT_NEAR(x[0], (kNodes - 1) / 2.0, 0.1) << graph;
      }
      EXPECT_NEAR(sum, kNodes * (kNodes - 1) / 2.0, 1e-3) << graph;
    }
    EXPECT_GE(averages, 20'000U) << graph;
  }
}

TEST(Async, OldParametersAreLeftOut) {
  const auto most_age = [](const char* bound) {
    return total_staleness(
               testing::train(joined(kFour, {"strategy.name=consensus", "strategy.async=true",
                                             "run.steps=400", "cluster.stall=[0.05,0.002]", bound}))
                   .last)
        .most;
  };
  EXPECT_LE(most_age("strategy.max_age=3"), 3U);
  EXPECT_GT(most_age("strategy.max_age=0"), 3U);
}

TEST(Async, QuickNodesMakeMoreOfTheSteps) {
  const auto result = testing::train(
      {"cluster.nodes=3", "cluster.speed=[1,1,0.1]", "strategy.name=parameter-server",
       "strategy.update=async", "optimizer.name=sgd", "run.steps=60"},
      [](NodeId) {
        return std::make_unique<testing::ToyLearner>(std::vector<float>{0}, [](auto, std::span<float> g) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          g[0] = 1;
        });
      });
  EXPECT_GE(all_steps(result), 180U);
  EXPECT_LT(result.last.nodes[2].steps * 3, result.last.nodes[1].steps);
}

TEST(Async, HogwildNeedsOneProcess) {
  try {
    train_on(joined(kFour, {"strategy.name=hogwild"}), Network::unlucky);
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_NE(std::string(error.what()).find("cluster.transport"), std::string::npos);
  }
}

// A node that dies ends the run for all, with its own reason.
TEST(Async, ADeadNodeEndsTheRun) {
  for (const Assignments& variant : testing::async_variants()) {
    try {
      testing::train(joined({"cluster.nodes=4", "optimizer.name=sgd", "run.steps=1000000"}, variant),
                     [](NodeId node) {
                       auto passes = std::make_shared<int>(0);
                       return std::make_unique<testing::ToyLearner>(
                           std::vector<float>(8), [=](auto, std::span<float> g) {
                             if (node == NodeId{2} && ++*passes == 30)
                               throw RunError("node 2 has burnt down");
                             std::ranges::fill(g, 0.0F);
                           });
                     });
      ADD_FAILURE() << name_of(variant);
    } catch (const RunError& error) {
      EXPECT_EQ(std::string(error.what()), "node 2 has burnt down") << name_of(variant);
    }
  }
}

}  // namespace
}  // namespace veche
