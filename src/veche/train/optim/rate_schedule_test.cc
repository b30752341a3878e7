#include "veche/train/optim/rate_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace veche {
namespace {

OptimizerSettings settings(RateShape schedule) { return {.lr = 0.4, .schedule = schedule}; }

TEST(RateSchedule, ConstantWithLinearWarmUp) {
  OptimizerSettings given = settings(RateShape::constant);
  given.warmup_epochs = 2;
  const RateSchedule schedule(given, {.total_steps = 100, .steps_per_epoch = 5, .nodes = 4});
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.04);
  EXPECT_DOUBLE_EQ(schedule.rate(4), 0.2);
  EXPECT_DOUBLE_EQ(schedule.rate(9), 0.4);
  EXPECT_DOUBLE_EQ(schedule.rate(99), 0.4);
}

TEST(RateSchedule, ScalesWithTheNodesOnRequest) {
  OptimizerSettings given = settings(RateShape::constant);
  given.scale_lr = true;
  EXPECT_DOUBLE_EQ(RateSchedule(given, {.total_steps = 10, .steps_per_epoch = 5, .nodes = 4}).rate(3), 1.6);
}

TEST(RateSchedule, MultiStepDropsAtItsEpochs) {
  OptimizerSettings given = settings(RateShape::multi_step);
  given.milestones = {1, 2.5};
  const RateSchedule schedule(given, {.total_steps = 40, .steps_per_epoch = 10, .nodes = 1});
  EXPECT_DOUBLE_EQ(schedule.rate(9), 0.4);
  EXPECT_DOUBLE_EQ(schedule.rate(10), 0.04);
  EXPECT_DOUBLE_EQ(schedule.rate(24), 0.04);
  EXPECT_DOUBLE_EQ(schedule.rate(25), 0.004);
}

TEST(RateSchedule, CosineFallsFromThePeakToZero) {
  const RateSchedule schedule(settings(RateShape::cosine),
                              {.total_steps = 100, .steps_per_epoch = 10, .nodes = 1});
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.4);
  EXPECT_NEAR(schedule.rate(50), 0.2, 1e-12);
  EXPECT_LT(schedule.rate(99), 0.001);
}

// Ten epochs: five of 10 steps, made at step 50, then five of 2 steps. It goes on where it was.
TEST(RateSchedule, FollowsTheEpochsWhereTheirStepsChange) {
  const RateSchedule before(settings(RateShape::cosine),
                            {.total_steps = 100, .steps_per_epoch = 10, .nodes = 1});
  const RateSchedule after(settings(RateShape::cosine),
                           {.total_steps = 60, .steps_per_epoch = 2, .nodes = 5, .ahead = 5 * 2 - 50});
  EXPECT_NEAR(after.rate(50), before.rate(50), 1e-12);
  EXPECT_NEAR(after.rate(58), before.rate(90), 1e-12);
  EXPECT_NEAR(after.rate(60), 0, 1e-12);
}

// Values printed by torch.optim.lr_scheduler.OneCycleLR(max_lr=0.4, total_steps=10).
TEST(RateSchedule, OneCycleIsPyTorchs) {
  const RateSchedule schedule(settings(RateShape::one_cycle),
                              {.total_steps = 10, .steps_per_epoch = 5, .nodes = 1});
  const std::vector<double> expected = {0.016,       0.208,       0.4,         0.380193853, 0.324698262,
                                        0.244504809, 0.155496791, 0.075303338, 0.019807747, 1.6e-06};
  for (std::size_t step = 0; step < expected.size(); ++step)
    EXPECT_NEAR(schedule.rate(step), expected[step], 1e-9) << step;
}

}  // namespace
}  // namespace veche
