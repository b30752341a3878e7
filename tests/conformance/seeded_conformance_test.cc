// Every strategy whose nodes go in step, in hundreds of orders: each must give the bits of threads, and no
// wait may be one that cannot end.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/network.h"
#include "tests/support/own_pace.h"
#include "tests/support/seeded.h"
#include "veche/runtime/registry.h"

namespace veche {
namespace {

using testing::Assignments;

constexpr int kSteps = 12;

std::vector<Assignments> variants() {
  std::vector<Assignments> all;
  for (const StrategyInfo& info : strategies())
    if (info.name != "hogwild") all.push_back({"strategy.name=" + info.name});
  const std::vector<Assignments> forms = {
      {"strategy.name=parameter-server", "strategy.servers=2", "strategy.fanout=2"},
      {"strategy.name=parameter-server", "strategy.dedicated=true"},
      {"strategy.name=allreduce", "strategy.algorithm=ring"},
      {"strategy.name=allreduce", "strategy.algorithm=halving-doubling"},
      {"strategy.name=local-sgd", "strategy.period=3", "strategy.outer=nesterov"},
      {"strategy.name=local-sgd", "strategy.period=2", "strategy.elastic=0.2"},
      {"strategy.name=consensus", "strategy.correction=gradient-tracking"},
      {"strategy.name=consensus", "strategy.correction=d2", "strategy.order=combine-then-adapt"},
      {"strategy.name=gossip", "strategy.draw=matching"},
      {"strategy.name=hierarchical", "strategy.between=gossip"}};
  all.insert(all.end(), forms.begin(), forms.end());
  return all;
}

class SeededInStep : public ::testing::TestWithParam<Assignments> {};

TEST_P(SeededInStep, GivesTheBitsOfThreads) {
  std::map<int, TrainingResult> threads;
  for (std::uint64_t seed = 0; seed < testing::seeds(); ++seed) {
    const int nodes = testing::nodes_for(seed);
    const Config config = testing::seeded_problem(GetParam(), nodes, kSteps);
    if (!threads.contains(nodes)) threads[nodes] = train_over(testing::Network::quiet, config);
    const TrainingResult result =
        run_training(testing::seeded_request(config.resolve(), testing::in_order_of(seed)));
    EXPECT_EQ(result.last.stopped, "steps");
    ASSERT_EQ(result.parameters, threads[nodes].parameters) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, SeededInStep, ::testing::ValuesIn(variants()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

}  // namespace
}  // namespace veche
