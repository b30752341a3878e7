#pragma once

#include <gtest/gtest.h>

#include "tests/support/virtual_members.h"

namespace veche::grid {

inline constexpr Time kSoon{1};  // duration of a change among connected members
inline constexpr Time kLong{20};

struct MembershipTest : ::testing::Test {
  VirtualMembers world(std::size_t most, MembershipOptions options = {}) { return {1, most, options, {}}; }
};

inline std::size_t seats_in(VirtualMembers& world, std::size_t who) {
  return world[who].view ? world[who].view->membership.members.size() : 0;
}
inline std::uint64_t number_at(VirtualMembers& world, std::size_t who) {
  return world[who].view->membership.number;
}

}  // namespace veche::grid
