// Pipeline stages on every engine: threads that share two slots, and seeded orders.
#include <gtest/gtest.h>

#include "tests/support/chain_step.h"
#include "veche/comm/seeded/seeded.h"
#include "veche/comm/threads/threads.h"
#include "veche/errors.h"

namespace veche {
namespace {

using namespace testing;
using Problem = ChainProblem;

TEST(Pipeline, OfEightStagesRunsOnTwoPlacesToCompute) {
  const Problem problem(50);
  for (const Schedule schedule : {Schedule::naive, Schedule::gpipe, Schedule::one_f_one_b})
    for (const int micro_batches : {1, 3, 8}) {
      ThreadsCluster cluster(8, 2);
      const Told told = run_step(cluster, plan_of(8, micro_batches, schedule), problem, 5);
      EXPECT_EQ(told.score.count, 50);
      for (const float g : told.gradients) EXPECT_NEAR(g, problem.gradient(8), 1e-4 * problem.gradient(8));
    }
}

TEST(Pipeline, HasFewerMicroBatchesWhereABatchIsSmall) {
  const Problem problem(3);
  ThreadsCluster cluster(2, 1);
  const Told told = run_step(cluster, plan_of(2, 8, Schedule::gpipe), problem);
  EXPECT_EQ(told.held, (std::vector<std::size_t>{3, 3}));
  EXPECT_NEAR(told.gradients[0], problem.gradient(2), 1e-5);
}

TEST(Pipeline, HoldsWhatTheScheduleSays) {
  const Problem problem(16);
  ThreadsCluster one(4, 2), other(4, 2);
  EXPECT_EQ(run_step(one, plan_of(4, 8, Schedule::gpipe), problem).held,
            (std::vector<std::size_t>{8, 8, 8, 8}));
  EXPECT_EQ(run_step(other, plan_of(4, 8, Schedule::one_f_one_b), problem).held,
            (std::vector<std::size_t>{4, 3, 2, 1}));
}

// The tasks take turns.
TEST(Pipeline, DoesTheSameInEveryOrder) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Problem problem(10, kAllTasks[seed % kAllTasks.size()]);
    const auto stages = static_cast<int>(2 + seed % 4);
    const Schedule schedule = seed % 2 == 0 ? Schedule::gpipe : Schedule::one_f_one_b;
    if (stages > 4) continue;
    SeededCluster right(stages, {.seed = seed, .stuck_after = Time(3)});
    const Told told = run_step(right, plan_of(stages, 4, schedule), problem, 2);
    for (const float g : told.gradients)
      EXPECT_NEAR(g, problem.gradient(stages), 1e-4 * problem.gradient(stages)) << seed;
  }
}

TEST(Pipeline, NamesTheStageThatIsGone) {
  ThreadsCluster cluster(2, 2);
  const PipelinePlan plan = plan_of(2, 2, Schedule::gpipe);
  const Problem problem(4);
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int s = 0; s < 2; ++s) endpoints.push_back(cluster.endpoint(NodeId{s}));
  std::string said;
  try {
    cluster.run([&](NodeId id) {
      if (id.value == 1) throw RunError("it burns");
      MessagePool pool;
      AdaptiveTimeout timeout{Time(20)};
      ChainStage stage({kWeight}, true, false);
      Pipeline pipeline(*endpoints[0], pool, timeout, stage, plan, nullptr);
      try {
        pipeline.train(problem.batch(), 0, 4, {});
      } catch (const PeerLost& lost) {
        said = lost.what();
        throw;
      }
    });
    FAIL() << "nobody noticed";
  } catch (const RunError&) {
  }
  EXPECT_NE(said.find("stage 1 of replica 0"), std::string::npos) << said;
}

}  // namespace
}  // namespace veche
