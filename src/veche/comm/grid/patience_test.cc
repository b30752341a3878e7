#include "veche/comm/grid/patience.h"

#include <gtest/gtest.h>

#include <cmath>

#include "veche/random.h"

namespace veche::grid {
namespace {

Patience after(const std::vector<double>& rounds, std::uint64_t bytes = 1000) {
  Patience patience(Time(7), Time(0.5));
  for (const double round : rounds) patience.measured(Time(round), bytes);
  return patience;
}

TEST(Patience, IsGivenUntilEnoughWasMeasured) {
  EXPECT_DOUBLE_EQ(after({}).deadline(1000).count(), 7);
  EXPECT_DOUBLE_EQ(after({1, 1, 1, 1}).deadline(1000).count(), 7);
  EXPECT_DOUBLE_EQ(after({1, 1, 1, 1, 1}).deadline(1000).count(), 4);
}

TEST(Patience, IsNeverLessThanTheLeast) {
  EXPECT_DOUBLE_EQ(after(std::vector<double>(64, 0.01)).deadline(1000).count(), 0.5);
}

TEST(Patience, GrowsWithTheBytes) {
  const Patience patience = after(std::vector<double>(64, 2));
  EXPECT_DOUBLE_EQ(patience.deadline(1000).count(), 8);
  EXPECT_DOUBLE_EQ(patience.deadline(4000).count(), 32);
  EXPECT_DOUBLE_EQ(patience.deadline(10).count(), 8);  // latency stays
}

TEST(Patience, OneSlowRoundChangesLittleTwoAreNormal) {
  std::vector<double> rounds(60, 1);
  rounds.push_back(100);
  EXPECT_DOUBLE_EQ(after(rounds).deadline(1000).count(), 4);
  rounds.push_back(40);
  EXPECT_DOUBLE_EQ(after(rounds).deadline(1000).count(), 50);
}

TEST(Patience, FollowsTheSpread) {
  // Half of the rounds take 1 s, half 5 s: the median deviation is 4 s at most, whichever is the median.
  std::vector<double> rounds;
  for (int i = 0; i < 64; ++i) rounds.push_back(i % 2 == 0 ? 1 : 5);
  EXPECT_NEAR(after(rounds).deadline(1000).count(), 5 + 12 * 1.4826 * 4, 1e-9);
}

TEST(Patience, ForgetsOldTimes) {
  std::vector<double> rounds(64, 10);
  rounds.insert(rounds.end(), 64, 1);
  EXPECT_DOUBLE_EQ(after(rounds).deadline(1000).count(), 4);
}

TEST(Patience, IsAlmostNeverLostOnHonestRounds) {
  // Rounds whose logarithm is normal with deviation 0.5, as those of shared machines: the spread is 0.49
  // medians, so the deadline is 6.9 of them, 3.9 deviations: one round in 18,000 is longer.
  RandomStream random(1, "patience");
  Patience patience(Time(10), Time(0.01));
  int late = 0;
  constexpr int kRounds = 20000;
  for (int i = 0; i < kRounds; ++i) {
    const Time took(std::exp(0.5 * random.normal()));
    if (took > patience.deadline(1000)) ++late;
    patience.measured(took, 1000);
  }
  EXPECT_LT(late, kRounds / 1000);
}

}  // namespace
}  // namespace veche::grid
