#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "veche/comm/grid/membership/membership.h"

namespace veche::grid {

// What members say to each other about who takes part; docs/grid-membership.md has the bytes. Who sent a
// message, the link knows.

struct Ballot {
  std::uint64_t round = 0;  // 0: none
  std::uint32_t seat = 0;   // of who proposes, in the present view
  auto operator<=>(const Ballot&) const = default;
};

// The place of a view among all.
struct ViewId {
  std::uint64_t lineage = 0, number = 0;
  bool operator==(const ViewId&) const = default;
};

struct AcceptedView {
  Ballot ballot;
  AgreedView view;
  bool operator==(const AcceptedView&) const = default;
};

// Whom the sender misses of the present view, all of them each time.
struct Sight {
  std::uint64_t sequence = 0;  // a later one replaces it
  bool stopped = false;        // its training has stopped: it wants another view
  bool leaving = false;
  std::vector<std::uint32_t> missed;  // seats, in order
};
struct Ready {  // has caught up and wants to be let in
  Member member;
  std::vector<NodeStatus> status;
};
struct Vouch {  // this newcomer has shown an invitation to the sender
  MemberId newcomer;
  Invitation invitation;
};
struct Prepare {
  ViewId next;
  Ballot ballot;
};
struct Promise {
  ViewId next;
  Ballot ballot;
  bool vote = false;  // of a member of the present view who remembers all that it promised
  std::optional<AcceptedView> accepted;
  Member member;
  std::vector<NodeStatus> status;  // empty: votes, but cannot take part
};
struct Accept {
  Ballot ballot;
  AgreedView view;
};
struct Accepted {
  ViewId next;
  Ballot ballot;
};
struct Outbid {  // has promised more to another
  ViewId next;
  Ballot promised;
};
struct Install {
  AgreedView view;
};
struct Revoke {
  MemberId id;
  Bytes signed_bytes;
};
struct Refused {
  std::string why;
};
struct Fork {  // those without a quorum go on as another lineage
  std::uint64_t lineage = 0;
};
struct Follow {
  std::uint64_t lineage = 0;
  Member member;
  std::vector<NodeStatus> status;
};
struct Ended {  // the run has, after so many steps: nobody is let in any more
  std::uint64_t step = 0;
};

using Body = std::variant<Sight, Ready, Vouch, Prepare, Promise, Accept, Accepted, Outbid, Install, Revoke,
                          Refused, Fork, Follow, Ended>;

struct MembershipMessage {
  std::uint64_t run = 0;
  ViewId present;                 // the newest view that the sender knows
  std::uint64_t incarnation = 0;  // of the sender
  Body body;
};

// What a member keeps across starts.
struct StoredMembership {
  std::uint64_t run = 0, incarnation = 0;
  std::uint64_t since = 0;  // the first incarnation from which on it remembers everything
  AgreedView present;
  Ballot promised;  // for the view after the present one
  std::optional<AcceptedView> accepted;
};

constexpr std::size_t kMostMembershipBytes = 4 << 20;
constexpr std::size_t kMostMembers = 1024;
constexpr std::size_t kMostAdmitted = 16384;
constexpr std::size_t kMostInvitations = 1024;

Bytes encode(const MembershipMessage& message);
// Nothing where they are not the bytes of a message: cut off, too long, out of bounds, of another version.
std::optional<MembershipMessage> parse_membership_message(std::span<const std::uint8_t> bytes);
Bytes encode(const StoredMembership& stored);
std::optional<StoredMembership> parse_stored_membership(std::span<const std::uint8_t> bytes);

}  // namespace veche::grid
