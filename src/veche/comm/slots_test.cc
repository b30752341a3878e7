#include "veche/comm/slots.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace veche {
namespace {

using namespace std::chrono_literals;

constexpr auto kTimeout = 30s;

TEST(SlotsTest, ThereAreAsManyAsTheProcessMayUseCores) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  EXPECT_LE(Slots(0).count(), static_cast<std::size_t>(CPU_COUNT(&all)));
  EXPECT_EQ(Slots(5).count(), 5u);
  CPU_ZERO(&one);
  std::size_t first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const std::size_t confined = Slots(0).count();
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(confined, 1u);
}

TEST(SlotsTest, NoMoreComputeAtOnceThanThereAreSlots) {
  constexpr int kNodes = 12, kSlots = 3, kSteps = 50;
  Slots slots(kSlots);
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0, most = 0, turns = 0;  // guarded by mutex
  {
    std::vector<std::jthread> nodes;
    for (int node = 0; node < kNodes; ++node)
      nodes.emplace_back([&] {
        for (std::uint64_t step = 0; step < kSteps; ++step) {
          const Slots::Turn turn(slots, step);
          std::unique_lock lock(mutex);
          most = std::max(most, ++inside);
          changed.notify_all();
          // the first ones wait for each other
          changed.wait_for(lock, kTimeout, [&] { return most >= kSlots; });
          --inside;
          ++turns;
        }
      });
  }
  EXPECT_EQ(turns, kNodes * kSteps);
  EXPECT_EQ(most, kSlots);
}

TEST(SlotsTest, WhoIsFurthestBehindGoesFirst) {
  Slots slots(1);
  std::vector<std::uint64_t> order;  // guarded by the single slot
  {
    std::vector<std::jthread> nodes;
    const Slots::Turn mine(slots, 0);
    for (const std::uint64_t step : {7, 3, 9, 5})
      nodes.emplace_back([&, step] {
        const Slots::Turn turn(slots, step);
        order.push_back(step);
      });
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (slots.waiting() < nodes.size() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{3, 5, 7, 9}));
}

// After waking, a thread must not stay bound to the core that it was moved to.
TEST(SlotsTest, ThreadsMayRunOnTheirCoresAgain) {
  constexpr int kNodes = 6;
  Slots slots(2);
  cpu_set_t before;
  pthread_getaffinity_np(pthread_self(), sizeof before, &before);
  std::atomic<int> free = 0;
  {
    std::vector<std::jthread> nodes;
    for (int node = 0; node < kNodes; ++node)
      nodes.emplace_back([&] {
        for (std::uint64_t step = 0; step < 100; ++step) const Slots::Turn turn(slots, step);
        cpu_set_t after;
        pthread_getaffinity_np(pthread_self(), sizeof after, &after);
        if (CPU_EQUAL(&before, &after) != 0) ++free;
      });
  }
  EXPECT_EQ(free, kNodes);
}

}  // namespace
}  // namespace veche
