// Pipelines whose replicas run under a strategy: whole runs through the configuration.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/train.h"
#include "veche/errors.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;
using testing::train;

const Assignments kRun = {"model.name=cnn",       "model.norm=none",  "model.dropout=0",
                          "data.name=synthetic",  "data.samples=240", "data.test_samples=50",
                          "data.shape=[1,12,12]", "data.batch=10",    "optimizer.name=sgd",
                          "optimizer.lr=0.02",    "run.steps=6",      "run.eval_every=3"};

std::vector<float> model_of(const RunResult& result, int replica) {
  std::vector<float> whole;
  for (int stage = 0; stage < result.info.stages; ++stage) {
    const auto& part = result.parameters[static_cast<std::size_t>(replica * result.info.stages + stage)];
    whole.insert(whole.end(), part.begin(), part.end());
  }
  return whole;
}

double apart(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    norm += std::pow(b[i], 2);
  }
  return std::sqrt(difference / norm);
}

TEST(Hybrid, TwoStagesOfTwoReplicasAreOneLearnerWithTheDoubleBatch) {
  const RunResult one = train(joined(kRun, {"strategy.name=single", "cluster.nodes=2"}));
  const RunResult four = train(joined(
      kRun, {"strategy.name=allreduce", "cluster.nodes=4", "pipeline.stages=2", "pipeline.micro_batches=4"}));
  EXPECT_EQ(four.info.parameters, one.info.parameters);
  EXPECT_LT(apart(model_of(four, 0), one.parameters[0]), 1e-5);
  EXPECT_EQ(model_of(four, 0), model_of(four, 1));
  EXPECT_EQ(four.last.cv, 0);
  EXPECT_NEAR(four.last.average_model.loss(), one.last.average_model.loss(), 1e-4);
  EXPECT_EQ(four.last.average_model.count, 50);
  // The two models are evaluated; their first stages report the scores.
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(four.last.nodes[i].test.count, i % 2 == 0 ? 50 : 0);
}

TEST(Hybrid, OtherStrategiesDoWithStagesWhatTheyDoWithoutThem) {
  for (const Assignments& strategy :
       std::vector<Assignments>{{"strategy.name=consensus"},
                                {"strategy.name=gossip"},
                                {"strategy.name=local-sgd", "strategy.period=2"},
                                {"strategy.name=parameter-server"},
                                {"strategy.name=push-sum", "topology.graph=ring"},
                                {"strategy.name=moshpit"},
                                {"strategy.name=hierarchical", "strategy.groups=2"},
                                {"strategy.name=consensus", "optimizer.clip=0.5"}}) {
    const RunResult whole = train(joined(joined(kRun, strategy), {"cluster.nodes=4"}));
    const RunResult cut = train(
        joined(joined(kRun, strategy), {"cluster.nodes=8", "pipeline.stages=2", "pipeline.micro_batches=3"}));
    for (int replica = 0; replica < 4; ++replica)
      EXPECT_LT(apart(model_of(cut, replica), whole.parameters[static_cast<std::size_t>(replica)]), 1e-5)
          << strategy[0] << " " << replica;
    EXPECT_NEAR(cut.last.cv, whole.last.cv, 1e-4 * whole.last.cv + 1e-6) << strategy[0];
    EXPECT_NEAR(cut.last.average_model.loss(), whole.last.average_model.loss(), 1e-4) << strategy[0];
  }
}

TEST(Hybrid, EveryStrategyRunsOrSaysWhyNot) {
  for (const StrategyInfo& info : strategies()) {
    const Assignments run = joined(kRun, {"strategy.name=" + info.name, "cluster.nodes=4",
                                          "pipeline.stages=2", "pipeline.micro_batches=2", "run.steps=2"});
    try {
      EXPECT_EQ(train(run).last.stopped, StopReason::steps) << info.name;
    } catch (const RequestError& error) {
      EXPECT_TRUE(info.name == "single" || info.name == "hogwild") << info.name << ": " << error.what();
    }
  }
}

TEST(Hybrid, NobodyWaitsForTheSlowestReplica) {
  for (const Assignments& strategy : std::vector<Assignments>{
           {"strategy.name=gossip", "strategy.async=true"},
           {"strategy.name=consensus", "strategy.async=true"},
           {"strategy.name=parameter-server", "strategy.update=async"},
           {"strategy.name=parameter-server", "strategy.update=async", "strategy.dedicated=true"},
           {"strategy.name=parameter-server", "strategy.update=ssp", "strategy.staleness=2"},
           {"strategy.name=local-sgd", "strategy.update=async", "strategy.period=2"}})
    for (const char* work : {"cluster.work=equal", "cluster.work=shared"}) {
      const RunResult run =
          train(joined(joined(kRun, strategy), {"cluster.nodes=6", "pipeline.stages=2", "run.steps=40",
                                                "run.eval_every=10", "pipeline.micro_batches=2", work}));
      EXPECT_EQ(run.last.stopped, StopReason::steps) << strategy[0];
      ASSERT_EQ(run.last.nodes.size(), 6U);
      for (std::size_t i = 0; i < 6; i += 2)  // all stages of a replica have made the same steps
        EXPECT_EQ(run.last.nodes[i].steps, run.last.nodes[i + 1].steps) << strategy[0];
      EXPECT_LT(run.last.average_model.loss(), 2.29) << strategy[0];  // less than log 10
      EXPECT_EQ(run.last.average_model.count, 50);
    }
}

TEST(Hybrid, MoreStagesThanCoresTrain) {
  const RunResult eight =
      train({"model.name=mlp", "model.hidden=[9,9,9,9,9,9,9]", "data.name=synthetic", "data.samples=64",
             "data.test_samples=8", "data.shape=[1,4,4]", "data.batch=16", "strategy.name=allreduce",
             "cluster.nodes=8", "pipeline.stages=8", "cluster.slots=2", "run.steps=8", "run.trace=true"});
  EXPECT_EQ(eight.info.stages, 8);
  EXPECT_EQ(eight.last.nodes[0].targets, 128);
  for (const NodeReport& node : eight.last.nodes) EXPECT_GT(node.stage.compute_seconds, 0);
  EXPECT_GT(eight.last.nodes[3].stage.sent.bytes, 0U);
}

TEST(Hybrid, WrongRequestsAreOneSentence) {
  const auto refused = [](const Assignments& more) {
    try {
      train(joined(kRun, more));
    } catch (const RequestError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const Assignments reduce = {"strategy.name=allreduce"};
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  std::string said = refused(joined(reduce, {"pipeline.stages=9", "cluster.nodes=9", "pipeline.cut=layers"}));
  EXPECT_TRUE(has(said, "pipeline.stages = 9") && has(said, "5 blocks")) << said;
  said = refused(joined(reduce, {"pipeline.stages=2", "cluster.nodes=5"}));
  EXPECT_TRUE(has(said, "cluster.nodes = 5") && has(said, "4 or 6")) << said;
  said = refused(joined(reduce, {"pipeline.stages=2", "cluster.nodes=4", "pipeline.micro_batches=11"}));
  EXPECT_TRUE(has(said, "pipeline.micro_batches = 11") && has(said, "10")) << said;
  said = refused({"strategy.name=single", "pipeline.stages=2", "cluster.nodes=4"});
  EXPECT_TRUE(has(said, "single") && has(said, "allreduce")) << said;
  said = refused(joined(reduce, {"pipeline.stages=2", "cluster.nodes=2", "pipeline.cut=[5]"}));
  EXPECT_TRUE(has(said, "pipeline.cut")) << said;
  said = refused(joined(reduce, {"pipeline.stages=3", "cluster.nodes=3", "pipeline.cut=[2]"}));
  EXPECT_TRUE(has(said, "1 places for 3 stages")) << said;
  said = refused(joined(reduce, {"pipeline.stages=2", "cluster.nodes=2", "pipeline.recompute=maybe"}));
  EXPECT_TRUE(has(said, "except-last")) << said;
  said = refused(joined(reduce, {"pipeline.stages=2", "cluster.nodes=2", "pipeline.cut=3"}));
  EXPECT_TRUE(has(said, "pipeline.cut")) << said;
}

}  // namespace
}  // namespace veche
