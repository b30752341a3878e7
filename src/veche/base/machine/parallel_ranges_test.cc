#include "veche/base/machine/parallel_ranges.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace veche {
namespace {

TEST(ParallelRanges, CoverEverythingOnce) {
  for (const std::size_t length : {0u, 1u, 65536u, 131071u, 131072u, 1'000'003u})
    for (const int threads : {-1, 0, 1, 2, 3, 7}) {
      std::vector<int> seen(length);
      parallel_ranges(threads, length, [&](std::size_t from, std::size_t to) {
        EXPECT_TRUE(from % 64 == 0);
        for (std::size_t i = from; i < to; ++i) ++seen[i];
      });
      EXPECT_EQ(seen, std::vector<int>(length, 1)) << length << " by " << threads;
    }
}

TEST(ParallelRanges, AreDoneByAsManyThreads) {
  std::mutex mutex;
  std::set<std::thread::id> who;  // guarded by mutex
  int parts = 0;                  // guarded by mutex
  parallel_ranges(3, 1'000'000, [&](std::size_t, std::size_t) {
    const std::lock_guard lock(mutex);
    who.insert(std::this_thread::get_id());
    ++parts;
  });
  EXPECT_EQ(parts, 3);
  EXPECT_EQ(who.size(), 3u);
  EXPECT_TRUE(who.contains(std::this_thread::get_id()));
}

TEST(ParallelRanges, LittleWorkStaysHere) {
  int parts = 0;
  parallel_ranges(8, 1000, [&](std::size_t from, std::size_t to) {
    ++parts;
    EXPECT_EQ(to - from, 1000u);
  });
  EXPECT_EQ(parts, 1);
}

}  // namespace
}  // namespace veche
