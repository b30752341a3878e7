#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace veche::grid {

// The SHA-256 of a member's public key.
struct MemberId {
  std::array<std::uint8_t, 32> bytes = {};
  auto operator<=>(const MemberId&) const = default;
};

struct Member {
  MemberId id;
  std::uint64_t incarnation = 0;       // increases with every start of the member
  std::string name;                    // for people
  std::vector<std::string> addresses;  // reachable host:port; empty: it only dials out
  std::uint32_t nodes = 1;             // nodes in its process
  double speed = 0;                    // measured targets per second
  MemberId inviter;
  bool operator==(const Member&) const = default;
};

// The membership of a view, agreed by the members of the previous view. A seat is an index into
// `members`.
struct MembershipView {
  std::uint64_t run = 0, lineage = 0, number = 0;
  std::vector<Member> members;
  std::uint64_t first_step = 0;                           // the largest step that a member had completed
  std::uint64_t state_hash = 0;                           // of the member with that step
  std::map<std::string, std::uint32_t> invitations_used;  // uses by invitation
  std::set<MemberId> admitted;                            // ever admitted: may return without an invitation
  std::set<MemberId> revoked;                             // barred for ever
  bool operator==(const MembershipView&) const = default;
};

}  // namespace veche::grid
