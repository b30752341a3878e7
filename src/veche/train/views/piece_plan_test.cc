#include "veche/train/views/piece_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "veche/random.h"

namespace veche {
namespace {

std::vector<std::uint64_t> hashes(std::size_t count) {
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), 100);
  return all;
}

TEST(PiecePlan, AsksOnlyForWhatDiffers) {
  std::vector<std::uint64_t> here = hashes(6);
  here[2] = 0;
  here.resize(5);
  PiecePlan plan(hashes(6), here, 1);
  EXPECT_EQ(plan.missing(), 2);
  EXPECT_EQ(plan.next(0), 2);
  EXPECT_EQ(plan.next(0), 5);
  EXPECT_EQ(plan.next(0), std::nullopt);
  plan.arrived(5);
  EXPECT_FALSE(plan.complete());
  plan.arrived(2);
  EXPECT_TRUE(plan.complete());
}

TEST(PiecePlan, KeepsEveryDonorAFewAhead) {
  PiecePlan plan(hashes(100), {}, 4, 3);
  std::map<std::size_t, int> asked;
  for (std::size_t donor = 0; donor < 4; ++donor)
    while (plan.next(donor)) ++asked[donor];
  EXPECT_EQ(asked, (std::map<std::size_t, int>{{0, 3}, {1, 3}, {2, 3}, {3, 3}}));
}

TEST(PiecePlan, WhatOneRefusesAnotherIsAskedFor) {
  PiecePlan plan(hashes(1), {}, 2);
  EXPECT_EQ(plan.next(0), 0);
  EXPECT_EQ(plan.next(1), std::nullopt);
  plan.refused(0, 0);
  EXPECT_EQ(plan.next(0), std::nullopt);
  EXPECT_EQ(plan.next(1), 0);
  EXPECT_FALSE(plan.hopeless());
  plan.refused(0, 1);
  EXPECT_TRUE(plan.hopeless());
}

// Donors of any speed that die, damage and refuse, in any order: every piece that some donor has
// arrives, and no piece is requested from two donors at a time.
TEST(PiecePlan, ArrivesWholeFromDonorsThatDie) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomStream random(seed, "donors");
    const std::size_t donors = 1 + random.below(5), pieces = 1 + random.below(40);
    const std::size_t steady = random.below(donors);  // never dies nor damages
    PiecePlan plan(hashes(pieces), {}, donors, 1 + random.below(4));
    std::vector<std::pair<std::size_t, std::size_t>> under_way;  // piece, donor
    std::vector<bool> dead(donors);
    std::uint64_t rounds = 0;
    while (!plan.complete()) {
      ASSERT_LT(++rounds, 10'000) << "seed " << seed;
      ASSERT_FALSE(plan.hopeless());
      for (std::size_t donor = 0; donor < donors; ++donor)
        while (const auto piece = plan.next(donor)) {
          ASSERT_FALSE(dead[donor]);
          for (const auto& [other, of] : under_way) ASSERT_NE(other, *piece);
          under_way.emplace_back(*piece, donor);
        }
      ASSERT_FALSE(under_way.empty());
      const std::size_t which = random.below(under_way.size());
      const auto [piece, donor] = under_way[which];
      const std::uint64_t what = donor == steady ? 9 : random.below(10);
      if (what == 0) {
        dead[donor] = true;
        plan.lost(donor);
        std::erase_if(under_way, [&](const auto& one) { return one.second == donor; });
        continue;
      }
      under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(which));
      what == 1 ? plan.refused(piece, donor) : plan.arrived(piece);
    }
  }
}

}  // namespace
}  // namespace veche
