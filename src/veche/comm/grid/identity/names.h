#pragma once

#include <string>

#include "veche/comm/grid/member.h"

namespace veche::grid {

// All 64 digits of an id.
inline std::string hex(const MemberId& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : id.bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

// For people: the first 8.
inline std::string short_name(const MemberId& id) { return hex(id).substr(0, 8); }

}  // namespace veche::grid
