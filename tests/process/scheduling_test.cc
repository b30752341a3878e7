// A network with arbitrary delays changes the order of everything and no result.
#include <gtest/gtest.h>

#include <optional>

#include "veche/comm/faulty/faulty.h"
#include "veche/runtime/run/training.h"

namespace veche {
namespace {

RunResult train(const std::string& strategy, const std::string& slots,
                std::optional<std::uint64_t> fault_seed) {
  Config config;
  for (const char* key :
       {"model.name=quadratic", "model.a=[[1,2],[3,1],[2,2],[1,5]]", "model.b=[[1,1],[0,4],[3,0],[2,2]]",
        "optimizer.lr=0.1", "run.steps=60", "run.eval_every=7", "topology.graph=ring"})
    config.set(key);
  config.set("strategy.name=" + strategy);
  // By default, all-reduce depends on the network's own collectives, which a decorated one does not
  // have.
  if (strategy == "allreduce") config.set("strategy.algorithm=native");
  config.set("cluster.slots=" + slots);
  TrainingRequest request;
  request.settings = config.resolve();
  request.keep = false;
  if (fault_seed)
    request.network = [fault_seed](std::unique_ptr<Endpoint> endpoint) {
      FaultPlan plan;
      plan.seed = *fault_seed;
      plan.delay_probability = 0.3;
      plan.longest_delay = Time(0.003);
      return make_faulty(std::move(endpoint), plan);
    };
  return run_training(request);
}

class Scheduling : public testing::TestWithParam<std::string> {};

TEST_P(Scheduling, DelaysChangeNothing) {
  const RunResult calm = train(GetParam(), "0", {});
  for (const std::uint64_t seed : {1, 2, 3}) {
    const RunResult delayed = train(GetParam(), seed == 1 ? "1" : "4", seed);
    EXPECT_EQ(delayed.parameters, calm.parameters) << "fault seed " << seed;
    EXPECT_EQ(delayed.last.cv, calm.last.cv);
    ASSERT_EQ(delayed.last.nodes.size(), calm.last.nodes.size());
    for (std::size_t i = 0; i < calm.last.nodes.size(); ++i) {
      EXPECT_EQ(delayed.last.nodes[i].train.loss_sum, calm.last.nodes[i].train.loss_sum);
      EXPECT_EQ(delayed.last.nodes[i].from_mean.l1, calm.last.nodes[i].from_mean.l1);
      EXPECT_EQ(delayed.last.nodes[i].sent.bytes, calm.last.nodes[i].sent.bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Scheduling, testing::Values("consensus", "allreduce", "none"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace veche
