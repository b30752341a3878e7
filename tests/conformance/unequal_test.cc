// Nodes of unequal speed and unequal amounts of data.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "tests/support/train.h"
#include "veche/train/loop/sample_plan.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;

// An independent implementation of the algorithm for unbalanced data: at step k node i trains if
// qt_i divides k and mixes if qc_i divides k+1. A node that skips keeps its parameters, and its
// neighbours still read them.
TEST(Unequal, FrequenciesAreThoseOfTheAlgorithm) {
  const std::vector<int> qt{1, 2, 1, 4};
  const std::vector<int> qc{1, 1, 3, 2};
  const std::vector<float> a{1, 2, 3, 4};
  const std::vector<float> b{1, -1, 2, 0};
  std::vector<float> x(4);
  constexpr float kThird = 1.0F / 3;
  for (int k = 0; k < 25; ++k) {
    std::vector<float> half = x;
    for (std::size_t i = 0; i < 4; ++i)
      if (k % qt[i] == 0) half[i] -= 0.05F * a[i] * (x[i] - b[i]);
    x = half;
    for (std::size_t i = 0; i < 4; ++i)
      if ((k + 1) % qc[i] == 0)
        x[i] = kThird * half[i] + kThird * half[(i + 1) % 4] + kThird * half[(i + 3) % 4];
  }
  const auto result = testing::train({"model.name=quadratic", "model.a=[1,2,3,4]", "model.b=[1,-1,2,0]",
                                      "optimizer.name=sgd", "optimizer.lr=0.05", "run.steps=25",
                                      "cluster.train_every=[1,2,1,4]", "cluster.mix_every=[1,1,3,2]"});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(result.parameters[i].front(), x[i], 1e-6) << "node " << i;
}

class Plans : public ::testing::TestWithParam<SamplePlan::Uneven> {};

TEST_P(Plans, EveryEpochSeesEverySampleAtLeastOnce) {
  const SamplePlan plan({100, 37, 5, 0}, 8, {1, 2, 3, 1}, GetParam());
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::size_t> seen(4);
    for (std::uint64_t k = 0; k < plan.steps_per_epoch(); ++k)
      for (std::size_t node = 0; node < 4; ++node)
        seen[node] += plan.count(node, epoch * plan.steps_per_epoch() + k);
    EXPECT_GE(seen[0], 100U);
    EXPECT_GE(seen[1], 37U);
    EXPECT_GE(seen[2], 5U);
    EXPECT_EQ(seen[3], 0U);
    if (GetParam() == SamplePlan::Uneven::wait) {
      EXPECT_EQ(seen[0] + seen[1] + seen[2], 142U);
    }
  }
}

TEST_P(Plans, TakenCountsTheTurnsBefore) {
  const SamplePlan plan({100, 37, 5}, 8, {1, 2, 3}, GetParam());
  for (std::size_t node = 0; node < 3; ++node) {
    std::uint64_t turns = 0;
    for (std::uint64_t k = 0; k < 3 * plan.steps_per_epoch(); ++k) {
      ASSERT_EQ(plan.taken(node, k), turns) << "node " << node << " step " << k;
      if (plan.trains(node, k)) ++turns;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Uneven, Plans,
                         ::testing::Values(SamplePlan::Uneven::wait, SamplePlan::Uneven::repeat));

// Runs on real data sets: the images trained on match the plan, and no run hangs.
TEST(Unequal, SpeedsDivideTheDataAndTheTurns) {
  for (const std::string strategy : {"consensus", "allreduce", "local-sgd", "gossip", "parameter-server"}) {
    const auto result = testing::train(
        {"model.name=mlp", "model.hidden=[4]", "data.name=synthetic", "data.samples=330", "data.batch=10",
         "run.epochs=2", "cluster.nodes=4", "cluster.speed=[1,1,0.5,0.25]", "strategy.name=" + strategy});
    std::vector<std::int64_t> images;
    for (const NodeReport& node : result.last.nodes) images.push_back(node.targets);
    EXPECT_EQ(images, (std::vector<std::int64_t>{240, 240, 120, 60})) << strategy;
  }
}

TEST(Unequal, UnevenBatchesLoseNoSampleAndRepeatOnRequest) {
  const Assignments common{"model.name=mlp",   "model.hidden=[4]",       "data.name=synthetic",
                           "data.samples=103", "data.batch=13",          "run.epochs=3",
                           "cluster.nodes=4",  "strategy.name=allreduce"};
  const auto images = [&](const Assignments& more) {
    std::int64_t sum = 0;
    for (const NodeReport& node : testing::train(joined(common, more)).last.nodes) sum += node.targets;
    return sum;
  };
  EXPECT_EQ(images({}), 309);
  EXPECT_EQ(images({"data.partition=classes:3"}), 309);
  EXPECT_GE(images({"data.partition=classes:3", "data.uneven=repeat"}), 309);
}

// Every node takes a share of the batch by its samples, so that all end the epoch together; other
// numbers of nodes make as many steps.
TEST(Unequal, AGlobalBatchStaysTheSame) {
  const auto run = [](const std::string& nodes, const std::string& partition) {
    return testing::train({"model.name=mlp", "model.hidden=[4]", "data.name=synthetic", "data.samples=200",
                           "data.batch=3", "data.global_batch=20", "run.epochs=1", "cluster.nodes=" + nodes,
                           "strategy.name=allreduce", "data.partition=" + partition});
  };
  const auto uneven = run("4", "sizes:[100,50,30,20]");
  EXPECT_EQ(uneven.last.step, 10U);
  std::vector<std::int64_t> samples;
  for (const NodeReport& node : uneven.last.nodes) samples.push_back(node.targets);
  EXPECT_EQ(samples, (std::vector<std::int64_t>{100, 50, 30, 20}));
  for (const char* nodes : {"1", "2", "5"}) EXPECT_EQ(run(nodes, "iid").last.step, 10U) << nodes;
}

TEST(Unequal, DedicatedServersDoNotTrain) {
  const auto result =
      testing::train({"model.name=mlp", "model.hidden=[4]", "data.name=synthetic", "data.samples=90",
                      "data.batch=10", "run.epochs=1", "cluster.nodes=5", "strategy.name=parameter-server",
                      "strategy.servers=2", "strategy.dedicated=true"});
  EXPECT_EQ(result.last.nodes[0].targets, 0);
  EXPECT_EQ(result.last.nodes[1].targets, 0);
  EXPECT_EQ(result.last.nodes[2].targets, 30);
  EXPECT_EQ(result.parameters[0], result.parameters[4]) << "servers have the model too";
}

}  // namespace
}  // namespace veche
