// Every strategy in lockstep, in hundreds of orders, with functions, texts and tables in turn: each
// must give the bits and the scores of the threads engine, and no wait may be endless.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/network.h"
#include "tests/support/seeded.h"

namespace veche {
namespace {

constexpr int kSteps = 12;

class SeededInStep : public ::testing::TestWithParam<testing::Assignments> {};

TEST_P(SeededInStep, GivesTheBitsOfThreads) {
  std::map<std::pair<int, testing::Problem>, RunResult> threads;
  for (std::uint64_t seed = 0; seed < testing::seeds(); ++seed) {
    const int nodes = testing::nodes_for(seed);
    const testing::Problem problem = testing::problem_for(seed);
    const Config config = testing::seeded_problem(GetParam(), nodes, kSteps, problem);
    const auto [place, fresh] = threads.try_emplace({nodes, problem});
    RunResult& expected = place->second;
    if (fresh) expected = train_over(testing::Network::quiet, config);
    const RunResult result =
        run_training(testing::seeded_request(config.resolve(), testing::in_order_of(seed)));
    EXPECT_EQ(result.last.stopped, StopReason::steps);
    ASSERT_EQ(result.parameters, expected.parameters) << "seed " << seed;
    const TestResult &tested = result.last.average_model, &wanted = expected.last.average_model;
    EXPECT_EQ(tested.count > 0, problem != testing::Problem::quadratic) << "seed " << seed;
    EXPECT_EQ(tested.count, wanted.count) << "seed " << seed;
    EXPECT_EQ(tested.loss_sum, wanted.loss_sum) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, SeededInStep, ::testing::ValuesIn(testing::seeded_in_step_variants()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

}  // namespace
}  // namespace veche
