// What members agree on under single faults, one test each. membership_schedules_test combines
// them.
#include "veche/comm/grid/membership/membership.h"

#include <gtest/gtest.h>

#include "veche/comm/grid/membership/membership_fixture.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

TEST_F(MembershipTest, FounderIsAloneInTheFirstView) {
  VirtualMembers members = world(1);
  members.form(1);
  EXPECT_EQ(members.wrong(), "");
  EXPECT_EQ(number_at(members, 0), 1u);
}

TEST_F(MembershipTest, LossOfOneIsAgreedWithoutDelay) {
  for (const std::size_t count : {3, 4, 5, 8, 20}) {
    for (std::size_t victim = 0; victim < count; ++victim) {
      VirtualMembers members = world(count);
      members.form(count);
      members.kill(victim);
      members[victim].gone = true;
      const Time took = members.run_until([&] { return members.settled(count - 1); }, kLong);
      EXPECT_TRUE(members.settled(count - 1)) << victim << " of " << count;
      EXPECT_LT(took, kSoon) << victim << " of " << count;
      EXPECT_EQ(members.wrong(), "");
    }
  }
}

TEST_F(MembershipTest, HalfOfTheMembersLostAtOnce) {
  for (const std::size_t count : {2, 4, 6, 8, 20}) {
    // Every second member, and the whole upper half: seat 0 stays, and exactly half with it decide.
    for (const bool alternate : {false, true}) {
      VirtualMembers members = world(count);
      members.form(count);
      for (std::size_t i = 0; i < count / 2; ++i) {
        const std::size_t victim = alternate ? 2 * i + 1 : count / 2 + i;
        members.kill(victim);
        members[victim].gone = true;
      }
      const Time took = members.run_until([&] { return members.settled(count / 2); }, kLong);
      EXPECT_TRUE(members.settled(count / 2)) << count;
      EXPECT_LT(took, kSoon);
      EXPECT_EQ(members.wrong(), "");
    }
  }
}

TEST_F(MembershipTest, HalfWithoutTheLowestSeatWaits) {
  VirtualMembers members = world(4);
  members.form(4);
  const std::uint64_t before = number_at(members, 2);
  members.kill(0);
  members.kill(1);
  members.run_for(kLong);
  for (const std::size_t who : {2, 3}) {
    EXPECT_TRUE(members[who].membership->cut_off());
    EXPECT_EQ(number_at(members, who), before);
  }
  members.restart(1, true);  // three of four are a quorum
  members.run_until([&] { return members.settled(3); }, kLong);
  EXPECT_TRUE(members.settled(3));
  EXPECT_FALSE(members[2].membership->cut_off());
  EXPECT_EQ(members.wrong(), "");
}

TEST_F(MembershipTest, TwoAtTheSameTime) {
  for (std::size_t first = 0; first < 5; ++first) {
    for (std::size_t second = 0; second < first; ++second) {
      VirtualMembers members = world(5);
      members.form(5);
      for (const std::size_t victim : {first, second}) {
        members.kill(victim);
        members[victim].gone = true;
      }
      const Time took = members.run_until([&] { return members.settled(3); }, kLong);
      EXPECT_TRUE(members.settled(3)) << first << " and " << second;
      EXPECT_LT(took, kSoon);
      EXPECT_EQ(members.wrong(), "");
    }
  }
}

TEST_F(MembershipTest, LowestSeatDiesDuringAChange) {
  // At every moment of the change caused by another loss: a millisecond is one message hop.
  for (int moment = 0; moment < 60; ++moment) {
    VirtualMembers members = world(5);
    members.form(5);
    members.kill(3);
    members[3].gone = true;
    members.run_for(Time(0.001 * moment));
    members.kill(0);
    members[0].gone = true;
    const Time took = members.run_until([&] { return members.settled(3); }, kLong);
    EXPECT_TRUE(members.settled(3)) << moment;
    EXPECT_LT(took, kSoon) << moment;
    EXPECT_EQ(members.wrong(), "");
  }
}

TEST_F(MembershipTest, LinkUpInOneDirectionOnly) {
  // For every pair with a broken direction: in the end not both are in, and all others are.
  for (const std::size_t count : {3, 5}) {
    for (std::size_t from = 0; from < count; ++from) {
      for (std::size_t to = 0; to < count; ++to) {
        if (from == to) continue;
        VirtualMembers members = world(count);
        members.form(count);
        members[std::max(from, to)].comes_back = false;
        members.set_link(from, to, false);
        members.run_until([&] { return members.settled(count - 1); }, kLong);
        EXPECT_TRUE(members.settled(count - 1)) << from << " to " << to;
        EXPECT_TRUE(members.in(std::min(from, to)));
        EXPECT_EQ(members.wrong(), "");
      }
    }
  }
}

TEST_F(MembershipTest, WhoHearsNobodyGoesAndTheOthersStay) {
  VirtualMembers members = world(5);
  members.form(5);
  members[0].comes_back = false;  // seat 0, which would propose
  for (std::size_t other = 1; other < 5; ++other) members.set_link(other, 0, false);
  const auto without = [&] {
    for (std::size_t other = 1; other < 5; ++other)
      if (seats_in(members, other) != 4) return false;
    return true;
  };
  members.run_until(without, kLong);
  EXPECT_TRUE(without());
  EXPECT_EQ(members.wrong(), "");
}

TEST_F(MembershipTest, MemberSleepsForAMinuteAndComesBack) {
  for (std::size_t sleeper = 0; sleeper < 4; ++sleeper) {
    VirtualMembers members = world(4);
    members.form(4);
    members.sleep(sleeper, Time(60));
    members.run_for(kSoon);
    for (std::size_t who = 0; who < 4; ++who) EXPECT_EQ(seats_in(members, who), who == sleeper ? 4u : 3u);
    members.run_for(Time(58));
    EXPECT_TRUE(members.in(sleeper));  // as far as it knows
    members.run_until([&] { return members.settled(4); }, kLong);
    EXPECT_TRUE(members.settled(4)) << sleeper;
    EXPECT_EQ(members[sleeper].removals, 1);
    EXPECT_EQ(members.wrong(), "");
  }
}

TEST_F(MembershipTest, MinorityForksWhereItMay) {
  MembershipOptions options;
  options.fork_after = Time(10);
  VirtualMembers members = world(5, options);
  members.form(5);
  for (const std::size_t minor : {3, 4})
    for (const std::size_t major : {0, 1, 2}) members.set_both(minor, major, false);
  members.run_for(Time(9));
  EXPECT_TRUE(members[3].membership->cut_off());
  members.run_for(Time(11));
  EXPECT_EQ(seats_in(members, 3), 2u);
  EXPECT_EQ(members[3].view->membership, members[4].view->membership);
  EXPECT_NE(members[3].view->membership.lineage, 0u);
  EXPECT_EQ(seats_in(members, 0), 3u);
  EXPECT_EQ(members[0].view->membership.lineage, 0u);
  EXPECT_EQ(members.wrong(), "");
}

TEST_F(MembershipTest, FaultEveryThirtySecondsKeepsNinetyNinePercent) {
  constexpr std::size_t kMembers = 32, kFaults = 100;
  constexpr Time kEvery{30};
  VirtualMembers members(5, kMembers, {}, {});
  members.form(kMembers);
  auto& network = members.network();
  network.delay = Time(0.0005);
  network.jitter = Time(0.0005);
  network.notice = Time(0.01);
  network.stop = Time(0.1);
  network.catch_up = Time(1);
  network.sync = Time(0.005);
  const Time begun = members.now();
  for (std::size_t who = 0; who < kMembers; ++who) {
    members[who].trained = Time(0);
    members[who].trains_since = begun;
  }
  std::vector<double> stood;  // times from a kill to the next view
  for (std::size_t fault = 0; fault < kFaults; ++fault) {
    // including the lowest seat
    const std::size_t victim = fault % 4 == 0 ? 0 : members.random().below(kMembers);
    const Time killed = members.now();
    members.kill(victim);
    members.hold();
    members.run_until([&] { return members.settled(kMembers - 1); }, Time(1));
    ASSERT_TRUE(members.settled(kMembers - 1)) << fault;
    stood.push_back((members.now() - killed).count());
    members.run_for(killed + Time(1) - members.now());
    members.restart(victim, true);
    members.run_for(killed + kEvery - members.now());
    ASSERT_TRUE(members.settled(kMembers)) << fault;
  }
  members.hold();
  Time trained{0};
  for (std::size_t who = 0; who < kMembers; ++who) trained += members[who].trained;
  const double kept = trained / (static_cast<double>(kMembers) * (members.now() - begun));
  std::ranges::sort(stood);
  std::printf(
      "kept %.4f of the images/s; from a kill to the next view %.3f s in the median, %.3f s at most\n", kept,
      stood[stood.size() / 2], stood.back());
  EXPECT_GE(kept, 0.99);
  EXPECT_LT(stood.back(), 1);
  EXPECT_EQ(members.wrong(), "");
}

TEST_F(MembershipTest, OneSlowRoundRemovesNobody) {
  // Each pair in turn misses each other for less than the timeout; also if one observer does so
  // repeatedly.
  VirtualMembers members = world(6);
  members.form(6);
  const std::uint64_t before = number_at(members, 0);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t a = 0; a < 6; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        members.set_both(a, b, false);
        members.run_for(Time(4.5));
        members.set_both(a, b, true);
        members.run_for(Time(0.5));
      }
    }
  }
  EXPECT_TRUE(members.settled(6));
  EXPECT_EQ(number_at(members, 0), before);
  EXPECT_EQ(members.wrong(), "");
}

TEST_F(MembershipTest, SlowMemberIsWaitedFor) {
  VirtualMembers members = world(4);
  members.form(4);
  members.network().stop = Time(4);  // duration of a step
  members.kill(3);
  members[3].gone = true;
  members.run_until([&] { return members.settled(3); }, kLong);
  EXPECT_TRUE(members.settled(3));
  for (const std::size_t who : {0, 1, 2}) EXPECT_EQ(members[who].removals, 0);
}

TEST_F(MembershipTest, TrainingThatStopsByItselfGetsANewView) {
  for (std::size_t who = 0; who < 3; ++who) {
    VirtualMembers members = world(3);
    members.form(3);
    const std::uint64_t before = number_at(members, 0);
    members.stop(who);
    members.run_until([&] { return number_at(members, 0) > before && members.settled(3); }, kLong);
    EXPECT_TRUE(members.settled(3));
    EXPECT_EQ(number_at(members, 0), before + 1);
  }
}

TEST_F(MembershipTest, FirstStepIsTheLargest) {
  VirtualMembers members = world(3);
  members.form(3);
  members[1].steps = 17;
  members.kill(2);
  members[2].gone = true;
  members.run_until([&] { return members.settled(2); }, kLong);
  ASSERT_TRUE(members.settled(2));
  const AgreedView& view = *members[0].view;
  EXPECT_GE(view.membership.first_step, 17u);
  EXPECT_EQ(view.membership.first_step, view.statuses[1].at(0).done_step);
  EXPECT_EQ(view.membership.state_hash, view.statuses[1].at(0).state_hash);
}

TEST(MembershipDisk, DamagedOrForeignIsRefused) {
  Member member;
  member.id.bytes[0] = 1;
  Membership founder(5, member, {}, {}, 1);
  founder.found({{0, 0}}, Time(0));
  const Bytes kept = founder.take().persist;
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(Membership(5, member, kept, {}, 1).self().incarnation, 2u);
  EXPECT_THROW(Membership(6, member, kept, {}, 1), RequestError);
  for (std::size_t at = 0; at < kept.size(); ++at) {
    Bytes damaged = kept;
    damaged[at] ^= 1;
    EXPECT_THROW(Membership(5, member, damaged, {}, 1), RequestError) << at;
    const Bytes cut(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(at) - 1);
    if (cut.empty()) continue;
    EXPECT_THROW(Membership(5, member, cut, {}, 1), RequestError) << at;
  }
}

}  // namespace
}  // namespace veche::grid
