// Every strategy in lockstep, in hundreds of orders: each must give the bits of the threads engine,
// and no wait may be endless.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/network.h"
#include "tests/support/seeded.h"

namespace veche {
namespace {

constexpr int kSteps = 12;

class SeededInStep : public ::testing::TestWithParam<testing::Assignments> {};

TEST_P(SeededInStep, GivesTheBitsOfThreads) {
  std::map<int, RunResult> threads;
  for (std::uint64_t seed = 0; seed < testing::seeds(); ++seed) {
    const int nodes = testing::nodes_for(seed);
    const Config config = testing::seeded_problem(GetParam(), nodes, kSteps);
    if (!threads.contains(nodes)) threads[nodes] = train_over(testing::Network::quiet, config);
    const RunResult result =
        run_training(testing::seeded_request(config.resolve(), testing::in_order_of(seed)));
    EXPECT_EQ(result.last.stopped, StopReason::steps);
    ASSERT_EQ(result.parameters, threads[nodes].parameters) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, SeededInStep, ::testing::ValuesIn(testing::seeded_in_step_variants()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

}  // namespace
}  // namespace veche
