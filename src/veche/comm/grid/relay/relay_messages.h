#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/comm/grid/member.h"

namespace veche::grid {

// Messages to reach a member that cannot be dialled: see docs/grid-protocol.md. Readers throw
// MalformedMessage.

// Identifies a connection to be joined by a relay: random, sent over the relay's links, used once.
using Token = std::array<std::uint8_t, 32>;

// A request names the member to reach; an answer gives the token for the requester.
std::string coded(const MemberId& id);
MemberId read_id(std::string_view text);
std::string coded(const Token& token);
Token read_token(std::string_view text);

// "Dial this member": it cannot dial you.
struct Introduction {
  MemberId who;
  std::vector<std::string> addresses;
};
std::string coded(const Introduction& introduction);
Introduction read_introduction(std::string_view text);

// "Dial me, to be joined with this member."
struct Relayed {
  MemberId who;
  Token token = {};
};
std::string coded(const Relayed& relayed);
Relayed read_relayed(std::string_view text);

// The first bytes of a connection to be joined. TLS begins with another byte.
inline constexpr std::size_t kPreambleBytes = 40;
inline constexpr char kPreambleBegin = 'V';
std::string preamble(const Token& token);
Token read_preamble(std::span<const char, kPreambleBytes> bytes);
// The relay's answer when both are connected; all later bytes come from the other end.
inline constexpr char kJoined = 1;

}  // namespace veche::grid
