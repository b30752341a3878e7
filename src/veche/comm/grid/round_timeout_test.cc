#include "veche/comm/grid/round_timeout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "veche/random.h"

namespace veche::grid {
namespace {

RoundTimeout after(const std::vector<double>& rounds, std::uint64_t bytes = 1000) {
  RoundTimeout timeout(Time(7), Time(0.5));
  for (const double round : rounds) timeout.measured(Time(round), bytes);
  return timeout;
}

TEST(RoundTimeout, IsGivenUntilEnoughWasMeasured) {
  EXPECT_DOUBLE_EQ(after({}).deadline(1000).count(), 7);
  EXPECT_DOUBLE_EQ(after({1, 1, 1, 1}).deadline(1000).count(), 7);
  EXPECT_DOUBLE_EQ(after({1, 1, 1, 1, 1}).deadline(1000).count(), 4);
}

TEST(RoundTimeout, IsNeverLessThanTheLeast) {
  EXPECT_DOUBLE_EQ(after(std::vector<double>(64, 0.01)).deadline(1000).count(), 0.5);
}

TEST(RoundTimeout, GrowsWithTheBytes) {
  const RoundTimeout timeout = after(std::vector<double>(64, 2));
  EXPECT_DOUBLE_EQ(timeout.deadline(1000).count(), 8);
  EXPECT_DOUBLE_EQ(timeout.deadline(4000).count(), 32);
  EXPECT_DOUBLE_EQ(timeout.deadline(10).count(), 8);  // latency stays
}

TEST(RoundTimeout, OneSlowRoundChangesLittleTwoAreNormal) {
  std::vector<double> rounds(60, 1);
  rounds.push_back(100);
  EXPECT_DOUBLE_EQ(after(rounds).deadline(1000).count(), 4);
  rounds.push_back(40);
  EXPECT_DOUBLE_EQ(after(rounds).deadline(1000).count(), 50);
}

TEST(RoundTimeout, FollowsTheSpread) {
  // Half of the rounds take 1 s, half 5 s: the median deviation is at most 4 s, whichever is the
  // median.
  std::vector<double> rounds;
  for (int i = 0; i < 64; ++i) rounds.push_back(i % 2 == 0 ? 1 : 5);
  EXPECT_NEAR(after(rounds).deadline(1000).count(), 5 + 12 * 1.4826 * 4, 1e-9);
}

TEST(RoundTimeout, ForgetsOldTimes) {
  std::vector<double> rounds(64, 10);
  rounds.insert(rounds.end(), 64, 1);
  EXPECT_DOUBLE_EQ(after(rounds).deadline(1000).count(), 4);
}

TEST(RoundTimeout, IsAlmostNeverLostOnHonestRounds) {
  // Log-normal rounds with deviation 0.5, as on shared machines: the spread is 0.49 medians, so the
  // deadline is 6.9 medians or 3.9 deviations: one round in 18,000 is longer.
  RandomStream random(1, "patience");
  RoundTimeout timeout(Time(10), Time(0.01));
  int late = 0;
  constexpr int kRounds = 20000;
  for (int i = 0; i < kRounds; ++i) {
    const Time took(std::exp(0.5 * random.normal()));
    if (took > timeout.deadline(1000)) ++late;
    timeout.measured(took, 1000);
  }
  EXPECT_LT(late, kRounds / 1000);
}

}  // namespace
}  // namespace veche::grid
