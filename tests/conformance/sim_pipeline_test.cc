// Stages in virtual time, where passes of known cost take what the papers say.
#include <gtest/gtest.h>

#include "tests/support/chain_step.h"
#include "tests/support/own_process.h"
#include "veche/comm/sim/sim.h"

namespace veche {
namespace {

using namespace testing;
using Problem = ChainProblem;

// Links that cost next to nothing, hosts of one operation a second.
double simulated(const std::vector<double>& forward, int micro_batches, Schedule schedule) {
  const auto stages = static_cast<int>(forward.size());
  const std::string told = in_own_process([&] {
    SimNetwork network;
    network.lv08 = false;
    network.crosstraffic = false;
    network.speed.assign(forward.size(), 1.0);
    network.sites = {{std::vector<SimLink>(forward.size(), SimLink{1e15, 1e-12}), false, {}}};
    const auto cluster = make_sim_cluster(stages, network);
    // A sample a micro-batch: the pass costs what the stage's sample does.
    const Problem problem(static_cast<std::size_t>(micro_batches));
    const Told run = run_step(*cluster, plan_of(stages, micro_batches, schedule, forward), problem);
    for (const float g : run.gradients)
      EXPECT_NEAR(g, problem.gradient(stages), 1e-4 * problem.gradient(stages));
    return std::to_string(run.end);
  });
  return std::stod(told);
}

TEST(Pipeline, TakesTheTimesOfThePapersInVirtualTime) {
  EXPECT_NEAR(simulated({1, 1, 1, 1}, 8, Schedule::gpipe), 33, 1e-6);
  EXPECT_NEAR(simulated({1, 1, 1, 1}, 8, Schedule::one_f_one_b), 33, 1e-6);
  EXPECT_NEAR(simulated({1, 2, 1}, 4, Schedule::gpipe), 30, 1e-6);
  EXPECT_NEAR(simulated({1, 2, 1}, 4, Schedule::one_f_one_b), 28, 1e-6);
  EXPECT_NEAR(simulated({1, 1, 2, 1}, 8, Schedule::gpipe), 57, 1e-6);
  EXPECT_NEAR(simulated({1, 1, 2, 1}, 8, Schedule::one_f_one_b), 55, 1e-6);
}

}  // namespace
}  // namespace veche
