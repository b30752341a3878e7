// Every asynchronous strategy, in hundreds of orders, with functions, texts and tables in turn,
// repeatable to the bit by seed.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/seeded.h"
#include "veche/errors.h"

namespace veche {
namespace {

using testing::Assignments;
using testing::joined;

constexpr int kSteps = 15;

RunResult train(const Assignments& variant, std::uint64_t seed) {
  const Config config =
      testing::seeded_problem(variant, testing::nodes_for(seed), kSteps, testing::problem_for(seed));
  return run_training(testing::seeded_request(config.resolve(), testing::in_order_of(seed)));
}

class SeededAsync : public ::testing::TestWithParam<Assignments> {
 protected:
  static std::size_t servers() {
    return std::ranges::find(GetParam(), "strategy.dedicated=true") == GetParam().end() ? 0 : 1;
  }
};

// Half of the runs share their steps; in some of them gradients are lost and nodes stall.
TEST_P(SeededAsync, EndsWithAllSteps) {
  for (std::uint64_t seed = 0; seed < testing::seeds(); ++seed) {
    const bool shared = seed % 2 == 0;
    Assignments variant = joined(GetParam(), {shared ? "cluster.work=shared" : "cluster.work=equal"});
    if (seed % 8 >= 6) variant = joined(variant, {"cluster.stall=[0.2,0.01]", "cluster.lose=0.2"});
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RunResult result = train(variant, seed);
    EXPECT_EQ(result.last.stopped, StopReason::steps);
    std::uint64_t all = 0;
    for (std::size_t node = 0; node < result.last.nodes.size(); ++node) {
      const std::uint64_t steps = result.last.nodes[node].steps;
      all += steps;
      if (!shared) {
        EXPECT_EQ(steps, node < servers() ? 0U : kSteps);
      }
    }
    EXPECT_GE(all, kSteps * (result.last.nodes.size() - servers()));
    for (const auto& node : result.parameters)
      for (const float x : node) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST_P(SeededAsync, ASeedRepeatsItself) {
  for (std::uint64_t seed = 0; seed < testing::seeds() / 20; ++seed) {
    const RunResult once = train(GetParam(), seed);
    const RunResult again = train(GetParam(), seed);
    EXPECT_EQ(once.parameters, again.parameters) << "seed " << seed;
    EXPECT_EQ(once.last.seconds, again.last.seconds) << "seed " << seed;
  }
}

TEST_P(SeededAsync, WithoutARateNothingMoves) {
  for (std::uint64_t seed = 0; seed < testing::seeds() / 10; ++seed) {
    Assignments variant = joined(GetParam(), {"optimizer.lr=0"});
    const bool has_start = testing::problem_for(seed) == testing::Problem::quadratic;
    if (has_start) variant.emplace_back("model.x0=0.75");
    for (const auto& node : train(variant, seed).parameters)
      for (const float x : node) ASSERT_NEAR(x, has_start ? 0.75 : 0, 1e-6) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, SeededAsync, ::testing::ValuesIn(testing::seeded_async_variants()),
                         [](const auto& info) { return testing::test_name_of(info.param); });

TEST(SeededHogwild, IsRefused) {
  try {
    train({"strategy.name=hogwild"}, 1);
    FAIL() << "there is no shared memory";
  } catch (const RequestError& error) {
    EXPECT_NE(std::string(error.what()).find("cluster.transport"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace veche
