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

// Messages of the membership protocol; byte layout in docs/grid-membership.md. The link identifies
// the sender.

struct Ballot {
  std::uint64_t round = 0;  // 0: none
  std::uint32_t seat = 0;   // of the proposer, in the current view
  auto operator<=>(const Ballot&) const = default;
};

// The position of a view among all views.
struct ViewId {
  std::uint64_t lineage = 0, number = 0;
  bool operator==(const ViewId&) const = default;
};

struct AcceptedView {
  Ballot ballot;
  AgreedView view;
  bool operator==(const AcceptedView&) const = default;
};

// All members of the current view that the sender misses.
struct Observation {
  std::uint64_t sequence = 0;  // a later one replaces it
  bool stopped = false;        // its training has stopped: it wants another view
  bool leaving = false;
  std::vector<std::uint32_t> missed;  // seats, sorted
};
struct Ready {  // has caught up and asks to be admitted
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
  bool vote = false;  // a member of the current view that remembers all its promises
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
struct Outbid {  // has promised a higher ballot
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
struct Fork {  // members without a quorum continue as another lineage
  std::uint64_t lineage = 0;
};
struct Follow {
  std::uint64_t lineage = 0;
  Member member;
  std::vector<NodeStatus> status;
};
struct Ended {  // the run ended after this many steps: no more admissions
  std::uint64_t step = 0;
};

using Body = std::variant<Observation, Ready, Vouch, Prepare, Promise, Accept, Accepted, Outbid, Install,
                          Revoke, Refused, Fork, Follow, Ended>;

struct MembershipMessage {
  std::uint64_t run = 0;
  ViewId present;                 // the newest view known to the sender
  std::uint64_t incarnation = 0;  // of the sender
  Body body;
};

// State that a member keeps across restarts.
struct StoredMembership {
  std::uint64_t run = 0, incarnation = 0;
  std::uint64_t since = 0;  // the first incarnation from which it remembers everything
  AgreedView present;
  Ballot promised;  // for the view after the current one
  std::optional<AcceptedView> accepted;
};

constexpr std::size_t kMostMembershipBytes = 4 << 20;
constexpr std::size_t kMostMembers = 1024;
constexpr std::size_t kMostAdmitted = 16384;
constexpr std::size_t kMostInvitations = 1024;

Bytes encode(const MembershipMessage& message);
// Returns nullopt unless the bytes are a valid message: truncated, too long, out of range, another
// version.
std::optional<MembershipMessage> parse_membership_message(std::span<const std::uint8_t> bytes);
Bytes encode(const StoredMembership& stored);
std::optional<StoredMembership> parse_stored_membership(std::span<const std::uint8_t> bytes);

}  // namespace veche::grid
