// Sums by MPI's own collectives, on their own: two ranks, also in the ways that only clusters of
// several hosts go.
#include <gtest/gtest.h>

#include <thread>

#include "veche/comm/mpi/mpi_sums.h"

namespace veche {
namespace {

using Clock = MpiSums::Clock;
using End = MpiSums::End;

constexpr std::size_t kShort = 1000;
constexpr std::size_t kLong = 300'000;
constexpr Tag kTag{3};

Clock::time_point in(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

struct Rank {
  static int number() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
  static MPI_Comm own_comm() {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    return comm;
  }
  Rank(int nodes_per_rank, bool oversubscribed)
      : progress_engine(own_comm(), {2 * nodes_per_rank, 2, number()}, oversubscribed, job) {}

  ~Rank() { MPI_Barrier(MPI_COMM_WORLD); }  // whose nodes are gone is lost to the other

  NodeId node(int i = 0) const { return NodeId{progress_engine.placement().first_here() + i}; }
  // One rank waits until the other is so far.
  static void tell_other() { MPI_Send(nullptr, 0, MPI_CHAR, 1 - number(), 0, MPI_COMM_WORLD); }
  static void await_other() {
    MPI_Recv(nullptr, 0, MPI_CHAR, 1 - number(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  JobState job;
  ProgressEngine progress_engine;
  MpiSums sums{progress_engine};
};

class Sums : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Oversubscribed, Sums, ::testing::Bool());

TEST_P(Sums, AreTheSameForOneAndForSeveralNodesARank) {
  for (const int nodes : {1, 2})
    for (const std::size_t length : {kShort, kLong}) {
      Rank rank(nodes, GetParam());
      const auto run = [&](int i) {
        for (const bool ahead : {false, true}) {
          std::vector<float> data(length, static_cast<float>(rank.node(i).value + 1));
          if (ahead) rank.sums.begin(rank.node(i), kTag, data);
          EXPECT_EQ(ahead ? rank.sums.finish(rank.node(i), kTag, data, in(60))
                          : rank.sums.whole(rank.node(i), kTag, data, in(60)),
                    End::done);
          EXPECT_EQ(data, std::vector<float>(length, static_cast<float>(nodes * (2 * nodes + 1))));
        }
      };
      std::vector<std::jthread> threads;
      for (int i = 0; i < nodes; ++i) threads.emplace_back(run, i);
    }
}

// What one had left behind inside MPI is done when this is.
void bring_to_rest(Rank& rank) {
  for (int i = 0; i < 3; ++i) {
    std::vector<float> data(kShort, 1.0F);
    ASSERT_EQ(rank.sums.whole(rank.node(), Tag{4}, data, in(60)), End::done);
    ASSERT_EQ(data, std::vector<float>(kShort, 2.0F));
  }
}

TEST_P(Sums, OneWhoTimesOutIsNotWrittenToWhenTheOtherComes) {
  Rank rank(1, GetParam());
  std::vector<float> data(kShort, 1.0F);
  if (Rank::number() == 0) {
    EXPECT_EQ(rank.sums.whole(rank.node(), kTag, data, in(0.2)), End::timed_out);
    Rank::tell_other();
    Rank::await_other();
    EXPECT_EQ(data, std::vector<float>(kShort, 1.0F));
  } else {
    Rank::await_other();
    EXPECT_EQ(rank.sums.whole(rank.node(), kTag, data, in(60)), End::done);
    EXPECT_EQ(data, std::vector<float>(kShort, 2.0F));
    Rank::tell_other();
  }
  bring_to_rest(rank);
}

TEST_P(Sums, ANodeWhoseSiblingDoesNotComeLeavesNothingToItsSibling) {
  for (const std::size_t length : {kShort, kLong}) {
    Rank rank(2, GetParam());
    std::vector<float> left(length, 1.0F);
    std::vector<float> late(length, 1.0F);
    EXPECT_EQ(rank.sums.whole(rank.node(0), kTag, left, in(0.1)), End::timed_out);
    EXPECT_EQ(rank.sums.whole(rank.node(1), kTag, late, in(60)), End::timed_out);
    EXPECT_EQ(left, std::vector<float>(length, 1.0F));
    EXPECT_EQ(late, std::vector<float>(length, 1.0F));
  }
}

TEST_P(Sums, WhatWasBegunIsACopy) {
  Rank rank(2, GetParam());
  {
    const std::vector<float> gone(kShort, 1.0F);
    rank.sums.begin(rank.node(0), kTag, gone);
  }
  std::vector<float> data(kShort, 2.0F);
  rank.sums.begin(rank.node(1), kTag, data);
  EXPECT_EQ(rank.sums.finish(rank.node(1), kTag, data, in(60)), End::done);
  EXPECT_EQ(data, std::vector<float>(kShort, 6.0F));
  EXPECT_EQ(rank.sums.finish(rank.node(0), kTag, data, in(60)), End::done);
}

TEST_P(Sums, AFailureOfTheJobEndsThem) {
  Rank rank(1, GetParam());
  std::vector<float> data(kShort, 1.0F);
  if (Rank::number() == 1) Rank::await_other();
  if (Rank::number() == 0) {
    rank.job.failed = 1;
    EXPECT_EQ(rank.sums.whole(rank.node(), kTag, data, in(1000)), End::lost);
    rank.job.failed = -1;
    Rank::tell_other();
  } else {
    EXPECT_EQ(rank.sums.whole(rank.node(), kTag, data, in(60)), End::done);
  }
  bring_to_rest(rank);
}

}  // namespace
}  // namespace veche

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  ::testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}
