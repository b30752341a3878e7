// Sequences, memory and times of schedules. The numbers are those of Narayanan et al.
// (PipeDream-Flush) and Huang et al. (GPipe): with p equal stages and m micro-batches a step takes
// (m + p - 1) (f + b), of which (p - 1) / (m + p - 1) are bubble. Those of unequal stages:
// docs/oracles.md.
#include "veche/train/pipeline/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "veche/train/pipeline/cut.h"

namespace veche {
namespace {

std::string words(Schedule schedule, int stages, int stage, int micro_batches) {
  std::string all;
  for (const StagePass& pass : passes_of_stage(schedule, stages, stage, micro_batches))
    all += (pass.forward ? "F" : "B") + std::to_string(pass.micro_batch);
  return all;
}

std::vector<int> held(Schedule schedule, int stages, int micro_batches) {
  std::vector<int> all;
  for (int stage = 0; stage < stages; ++stage)
    all.push_back(most_held(passes_of_stage(schedule, stages, stage, micro_batches)));
  return all;
}

double taken(Schedule schedule, const std::vector<double>& forward, int micro_batches) {
  std::vector<double> backward;
  for (const double f : forward) backward.push_back(2 * f);
  return makespan(schedule, forward, backward, micro_batches);
}

TEST(Schedule, IsTheSequenceOfThePapers) {
  EXPECT_EQ(words(Schedule::naive, 2, 0, 3), "F0B0F1B1F2B2");
  EXPECT_EQ(words(Schedule::gpipe, 3, 1, 3), "F0F1F2B0B1B2");
  EXPECT_EQ(words(Schedule::one_f_one_b, 3, 0, 5), "F0F1F2B0F3B1F4B2B3B4");
  EXPECT_EQ(words(Schedule::one_f_one_b, 3, 1, 5), "F0F1B0F2B1F3B2F4B3B4");
  EXPECT_EQ(words(Schedule::one_f_one_b, 3, 2, 5), "F0B0F1B1F2B2F3B3F4B4");
}

TEST(Schedule, HoldsWhatThePapersSay) {
  EXPECT_EQ(held(Schedule::gpipe, 4, 8), (std::vector{8, 8, 8, 8}));
  EXPECT_EQ(held(Schedule::one_f_one_b, 4, 8), (std::vector{4, 3, 2, 1}));
  EXPECT_EQ(held(Schedule::one_f_one_b, 3, 7), (std::vector{3, 2, 1}));
  EXPECT_EQ(held(Schedule::one_f_one_b, 4, 2), (std::vector{2, 2, 2, 1}));
  EXPECT_EQ(held(Schedule::naive, 4, 8), (std::vector{1, 1, 1, 1}));
}

TEST(Schedule, TakesTheTimesOfThePapers) {
  EXPECT_EQ(taken(Schedule::gpipe, {1, 1, 1, 1}, 8), 33);
  EXPECT_EQ(taken(Schedule::one_f_one_b, {1, 1, 1, 1}, 8), 33);
  EXPECT_EQ(taken(Schedule::one_f_one_b, {1, 1, 1}, 7), 27);
  EXPECT_EQ(taken(Schedule::naive, {1, 1, 1, 1}, 8), 8 * 4 * 3);
  const std::vector<double> f(4, 1), b(4, 2);
  EXPECT_DOUBLE_EQ(bubble(Schedule::one_f_one_b, f, b, 8), 3.0 / 11);
}

TEST(Schedule, TakesTheirTimesWithUnequalStages) {
  EXPECT_EQ(taken(Schedule::gpipe, {1, 2, 1}, 4), 30);
  EXPECT_EQ(taken(Schedule::one_f_one_b, {1, 2, 1}, 4), 28);
  EXPECT_EQ(taken(Schedule::gpipe, {1, 1, 2, 1}, 8), 57);
  EXPECT_EQ(taken(Schedule::one_f_one_b, {1, 1, 2, 1}, 8), 55);
}

TEST(Schedule, GoesForwardAndBackOnceForEveryMicroBatch) {
  for (const Schedule schedule : {Schedule::naive, Schedule::gpipe, Schedule::one_f_one_b})
    for (int stages = 1; stages <= 6; ++stages)
      for (int micro_batches = 1; micro_batches <= 9; ++micro_batches) {
        const std::vector<double> f(static_cast<std::size_t>(stages), 1.0);
        EXPECT_GT(makespan(schedule, f, f, micro_batches), 0);  // no stage waits for ever
        for (int stage = 0; stage < stages; ++stage)
          EXPECT_EQ(passes_of_stage(schedule, stages, stage, micro_batches).size(),
                    static_cast<std::size_t>(2 * micro_batches));
      }
}

TEST(MicroBatches, AreAsEqualAsCanBe) {
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 8; ++i) sizes.push_back(samples_in(50, 8, i));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{7, 7, 6, 6, 6, 6, 6, 6}));
  EXPECT_EQ(first_sample_in(50, 8, 2), 14U);
  EXPECT_EQ(first_sample_in(50, 8, 8), 50U);
}

TEST(Cut, MakesTheSlowestStageQuick) {
  const std::vector<double> costs{3, 1, 4, 1, 5, 9, 2, 6}, equal(3, 1);
  const Cut cut = best_cut(costs, equal);
  ASSERT_EQ(cut.size(), 2U);
  const std::vector<double> stages = stage_costs(cut, costs, equal);
  EXPECT_EQ(std::ranges::max(stages), 14);
}

TEST(Cut, GivesQuickNodesMore) {
  const std::vector<double> unit(6, 1);
  EXPECT_EQ(best_cut(unit, std::vector<double>{1, 2}), (Cut{2}));
  EXPECT_EQ(best_cut(unit, std::vector<double>{2, 1}), (Cut{4}));
  EXPECT_EQ(best_cut(unit, std::vector<double>{1, 1, 1}), (Cut{2, 4}));
}

// Against trying all.
TEST(Cut, IsTheBestOfAll) {
  const std::vector<double> costs{2, 7, 1, 8, 2, 8, 1, 8, 2}, speeds{1, 3, 2};
  double best = 1e9;
  for (int i = 1; i < 8; ++i)
    for (int j = i + 1; j < 9; ++j)
      best = std::min(best, std::ranges::max(stage_costs(Cut{i, j}, costs, speeds)));
  EXPECT_EQ(std::ranges::max(stage_costs(best_cut(costs, speeds), costs, speeds)), best);
}

TEST(Cut, LeavesNoStageEmpty) {
  EXPECT_EQ(best_cut(std::vector<double>{0, 0, 9}, std::vector<double>{1, 1, 1}), (Cut{1, 2}));
  EXPECT_EQ(best_cut(std::vector<double>{5}, std::vector<double>{1}), Cut{});
}

}  // namespace
}  // namespace veche
