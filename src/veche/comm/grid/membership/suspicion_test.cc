#include "veche/comm/grid/membership/suspicion.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace veche::grid {
namespace {

std::vector<std::vector<Missed>> missing(std::size_t seats, const std::vector<std::uint32_t>& dead) {
  std::vector<std::vector<Missed>> reports(seats);
  for (std::uint32_t by = 0; by < seats; ++by)
    for (const std::uint32_t of : dead)
      if (std::ranges::find(dead, by) == dead.end()) reports[by].push_back({of, Time(0)});
  return reports;
}

TEST(Suspicion, EveryHalfOfTheDeadIsFoundWithoutWaiting) {
  for (std::uint32_t seats = 2; seats <= 14; ++seats) {
    for (std::uint32_t set = 0; set < 1U << seats; ++set) {
      std::vector<std::uint32_t> dead;
      for (std::uint32_t seat = 0; seat < seats; ++seat)
        if ((set >> seat & 1U) != 0) dead.push_back(seat);
      if (2 * dead.size() > seats) continue;
      const auto lost = believed_lost(std::vector<bool>(seats), missing(seats, dead), Time(0), Time(1));
      for (std::uint32_t seat = 0; seat < seats; ++seat)
        ASSERT_EQ(lost[seat], (set >> seat & 1U) != 0) << seat << " of " << seats << ", dead " << set;
    }
  }
}

TEST(Suspicion, ObserversAreThoseThatFollow) {
  EXPECT_EQ(observers_of(6, std::vector<bool>(8)), (std::vector<std::uint32_t>{7, 0, 1, 2, 3}));
  EXPECT_EQ(observers_of(6, {false, false, true, false, false, false, false, true}),
            (std::vector<std::uint32_t>{0, 1, 3, 4, 5}));
  EXPECT_EQ(observers_of(0, std::vector<bool>(3)), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_TRUE(observers_of(0, std::vector<bool>(1)).empty());
}

}  // namespace
}  // namespace veche::grid
