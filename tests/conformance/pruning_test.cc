// Magnitude pruning under every strategy: the right weights are removed, equally on all nodes, and
// stay removed.
#include "veche/train/optim/pruning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/support/train.h"
#include "veche/errors.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::ToyLearner;

// Node i pulls number j towards (j + 1) (1 + i / 10), with the sign of j's parity: sizes grow with
// j.
std::unique_ptr<Learner> puller(NodeId node) {
  const double own = 1 + 0.1 * node.value;
  return std::make_unique<ToyLearner>(
      std::vector<float>(10, 0.0F), [own](std::span<const float> x, std::span<float> g) {
        for (std::size_t j = 0; j < x.size(); ++j) {
          const double goal = (j % 2 == 0 ? 1 : -1) * static_cast<double>(j + 1) * own;
          g[j] = static_cast<float>(static_cast<double>(x[j]) - goal);
        }
      });
}

std::set<std::size_t> zeros(const std::vector<float>& x) {
  std::set<std::size_t> indices;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] == 0) indices.insert(i);
  return indices;
}

const Assignments kRun = {"run.steps=30",     "cluster.nodes=4",        "optimizer.name=sgd",
                          "optimizer.lr=0.1", "optimizer.momentum=0.5", "model.prune=0.45",
                          "model.prune_at=10"};

class PruningWith : public ::testing::TestWithParam<Assignments> {};

TEST_P(PruningWith, TheSmallestGoAndStayAway) {
  const RunResult result = testing::train(testing::joined(kRun, GetParam()), puller);
  for (const auto& x : result.parameters) {
    EXPECT_EQ(zeros(x), (std::set<std::size_t>{0, 1, 2, 3}))
        << "four of ten, rounded down, and the same everywhere";
    EXPECT_GT(std::abs(x[9]), 5) << "the others go on learning";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, PruningWith,
    ::testing::Values(Assignments{"strategy.name=consensus"}, Assignments{"strategy.name=allreduce"},
                      Assignments{"strategy.name=none"}, Assignments{"strategy.name=single"},
                      Assignments{"strategy.name=consensus", "strategy.correction=gradient-tracking",
                                  "optimizer.momentum=0"},
                      Assignments{"strategy.name=consensus", "strategy.correction=d2",
                                  "optimizer.momentum=0"},
                      Assignments{"strategy.name=parameter-server", "strategy.servers=3"},
                      Assignments{"strategy.name=local-sgd", "strategy.period=4", "strategy.outer=nesterov"},
                      Assignments{"strategy.name=gossip"}, Assignments{"strategy.name=push-sum"},
                      Assignments{"strategy.name=allreduce", "optimizer.name=adam", "optimizer.lr=1"},
                      Assignments{"strategy.name=consensus", "model.prune_until=25"}));

TEST(Pruning, IsGradualByTheCube) {
  const PruningPlan plan{.fraction = 0.8, .from = 100, .until = 200};
  EXPECT_FALSE(plan.due(100));
  EXPECT_FALSE(plan.due(115));
  EXPECT_DOUBLE_EQ(*plan.due(110), 0.8 * (1 - 0.9 * 0.9 * 0.9));
  EXPECT_DOUBLE_EQ(*plan.due(150), 0.8 * 0.875);
  EXPECT_DOUBLE_EQ(*plan.due(200), 0.8);
  EXPECT_FALSE(plan.due(201));
  const PruningPlan once{.fraction = 0.5, .from = 7, .until = 7};
  EXPECT_FALSE(once.due(6));
  EXPECT_DOUBLE_EQ(*once.due(7), 0.5);
  EXPECT_FALSE(once.due(8));
  EXPECT_FALSE(PruningPlan{}.due(0));
}

TEST(Pruning, WrongPlansAreRefused) {
  const auto refused = [](const Assignments& more) {
    try {
      testing::train(testing::joined(kRun, more), puller);
    } catch (const RequestError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused({"model.prune_at=30"}).find("step 30 of 30"), std::string::npos);
  EXPECT_NE(refused({"model.prune_until=5"}).find("before model.prune_at"), std::string::npos);
  EXPECT_NE(refused({"strategy.name=gossip", "strategy.async=true"}).find("is asynchronous"),
            std::string::npos);
  EXPECT_NE(refused({"model.prune=1"}).find("below 1"), std::string::npos);
}

}  // namespace
}  // namespace veche
