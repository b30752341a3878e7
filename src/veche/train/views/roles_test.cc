#include "veche/train/views/roles.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace veche {
namespace {

HeldStage held(std::uint64_t member, int stage, std::uint64_t step, std::uint64_t unit) {
  HeldStage one{
      .member = member, .stage = stage, .has_state = stage >= 0 ? 1U : 0U, .step = step, .unit = unit};
  one.name[0] = static_cast<char>('a' + member);
  return one;
}

std::vector<int> places(const Roles& roles) {
  std::vector<int> all;
  for (const NodeId node : roles.nodes) all.push_back(node.value);
  return all;
}

// Two replicas of two stages: a b and c d.
std::vector<PreviousRole> two_replicas() {
  return {{0, "a", 0, 0}, {1, "b", 0, 1}, {2, "c", 1, 0}, {3, "d", 1, 1}};
}

TEST(Roles, AreBySeatsBeforeTheFirstStep) {
  const std::vector<HeldStage> all{held(0, 0, 0, 0), held(1, -1, 0, 0), held(2, -1, 0, 0), held(3, -1, 0, 0),
                                   held(4, -1, 0, 0)};
  const Roles roles = assign_roles(all, 2);
  EXPECT_EQ(places(roles), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(roles.place_of(NodeId{4}), -1);
  EXPECT_EQ(told_of_roles({}, all, roles), "");
}

TEST(Roles, AReplicaThatLostAStageIsSuspendedByName) {
  const std::vector<HeldStage> all{held(0, 0, 7, 1), held(1, 1, 7, 1), held(2, 0, 7, 2)};
  const Roles roles = assign_roles(all, 2);
  EXPECT_EQ(places(roles), (std::vector<int>{0, 1}));
  EXPECT_EQ(told_of_roles(two_replicas(), all, roles), "replica 1 has lost stage 1 with d and is suspended");
}

TEST(Roles, ANewcomerTakesTheStageThatWasLost) {
  const std::vector<HeldStage> all{held(0, 0, 9, 1), held(1, 1, 9, 1), held(2, 0, 7, 0), held(4, -1, 0, 0)};
  const Roles roles = assign_roles(all, 2);
  EXPECT_EQ(places(roles), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(roles.first_step, 9U);
  EXPECT_EQ(told_of_roles({}, all, roles), "e takes stage 1 of replica 1");
}

TEST(Roles, WhatIsLeftOfTwoReplicasIsOne) {
  const std::vector<HeldStage> all{held(1, 1, 7, 1), held(2, 0, 7, 2)};
  const Roles roles = assign_roles(all, 2);
  EXPECT_EQ(places(roles), (std::vector<int>{1, 0}));
  EXPECT_EQ(told_of_roles(two_replicas(), all, roles),
            "replica 0 has lost stage 0 with a; replica 1 has lost stage 1 with d");
}

TEST(Roles, WhoHasAStageTooManyTakesAnother) {
  const std::vector<HeldStage> all{held(0, 0, 7, 1), held(1, 1, 7, 1), held(2, 0, 7, 2), held(5, 0, 6, 3)};
  const Roles roles = assign_roles(all, 2);
  EXPECT_EQ(places(roles), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(told_of_roles({}, all, roles), "f takes stage 1 of replica 1");
}

TEST(Roles, AStageThatNobodyHasIsWaitedFor) {
  const std::vector<HeldStage> all{held(0, 0, 7, 1), held(2, 0, 7, 2), held(4, -1, 0, 0)};
  const Roles roles = assign_roles(all, 2);
  EXPECT_TRUE(roles.nodes.empty());
  EXPECT_EQ(roles.missing, (std::vector<int>{1}));
  EXPECT_EQ(roles.first_step, 7U);
  EXPECT_EQ(told_of_roles(two_replicas(), all, roles),
            "replica 0 has lost stage 1 with b and is suspended; replica 1 has lost stage 1 with d and is "
            "suspended; "
            "no member here has stage 1: all wait until a member that had it returns");
}

TEST(Roles, OfTooFewMembersNobodyTrains) {
  const std::vector<HeldStage> all{held(0, 0, 0, 0)};
  EXPECT_EQ(told_of_roles({}, all, assign_roles(all, 3)),
            "no replica is complete: 1 of 3 stages have a member, and all wait for others");
}

// A node that never had a state cannot restart a run that others have trained.
TEST(Roles, NewcomersAloneBeginNothing) {
  const std::vector<HeldStage> all{held(0, -1, 0, 0), held(1, -1, 0, 0)};
  EXPECT_EQ(assign_roles(all, 2).missing, (std::vector<int>{0, 1}));
}

TEST(Roles, NamesFromElsewhereSayNothingToATerminal) {
  HeldStage one;
  std::ranges::copy(std::string_view("a\x1b[2Jb\xff"), one.name.begin());
  EXPECT_EQ(one.called(), "a?[2Jb?");
}

}  // namespace
}  // namespace veche
