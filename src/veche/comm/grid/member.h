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
  std::uint64_t incarnation = 0;       // grows with every start of the member
  std::string name;                    // for people
  std::vector<std::string> addresses;  // host:port, where it can be reached; none: it dials out
  std::uint32_t nodes = 1;             // that live in its process
  double speed = 0;                    // images a second that it has shown
  MemberId inviter;
  bool operator==(const Member&) const = default;
};

// Who takes part, agreed by the members of the view before. A seat is a place in `members`.
struct MembershipView {
  std::uint64_t run = 0, lineage = 0, number = 0;
  std::vector<Member> members;
  std::uint64_t first_step = 0;                           // the largest that one of them had done
  std::uint64_t state_hash = 0;                           // of who had done it
  std::map<std::string, std::uint32_t> invitations_used;  // by invitation
  std::set<MemberId> admitted;                            // ever: they come back without an invitation
  std::set<MemberId> revoked;                             // never again
  bool operator==(const MembershipView&) const = default;
};

}  // namespace veche::grid
