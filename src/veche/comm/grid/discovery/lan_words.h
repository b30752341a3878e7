#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "veche/comm/grid/member.h"

namespace veche::grid {

// A datagram on the local network. It holds nothing secret, and no address: that is where it came from.
struct LanWord {
  enum class Kind : std::uint8_t {
    seek = 1,  // who of this run is there?
    here,      // I am
  } kind = Kind::seek;
  std::array<std::uint8_t, 32> topic = {};  // a hash of the run's id, by which nobody finds the id
  std::uint16_t port = 0;                   // where it listens; 0: it does not
  std::uint64_t sender = 0;                 // drawn at its start: one hears oneself
};
std::string coded(const LanWord& word);
LanWord read_lan_word(std::string_view bytes);  // throws MalformedMessage

}  // namespace veche::grid
