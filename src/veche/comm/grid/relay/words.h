#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/comm/grid/member.h"

namespace veche::grid {

// What members say to reach one whom they cannot dial: see docs/grid-protocol.md. Readers throw
// MalformedMessage.

// By which a relay knows the two connections that it joins: drawn anew for each, told over its links, used
// once.
using Token = std::array<std::uint8_t, 32>;

// A request names the member to be reached, an answer gives the token of who asked.
std::string coded(const MemberId& id);
MemberId read_id(std::string_view text);
std::string coded(const Token& token);
Token read_token(std::string_view text);

// "Dial this one": it cannot dial you.
struct Introduction {
  MemberId who;
  std::vector<std::string> addresses;
};
std::string coded(const Introduction& introduction);
Introduction read_introduction(std::string_view text);

// "Dial me, and you are joined with this one."
struct Relayed {
  MemberId who;
  Token token = {};
};
std::string coded(const Relayed& relayed);
Relayed read_relayed(std::string_view text);

// The first bytes of a connection that is to be joined with another. TLS begins with another byte.
inline constexpr std::size_t kPreambleBytes = 40;
inline constexpr char kPreambleBegin = 'V';
std::string preamble(const Token& token);
Token read_preamble(std::span<const char, kPreambleBytes> bytes);
// The relay's answer when both are there; from then on all bytes are the other's.
inline constexpr char kJoined = 1;

}  // namespace veche::grid
