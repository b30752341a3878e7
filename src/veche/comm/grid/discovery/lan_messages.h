#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "veche/comm/grid/member.h"

namespace veche::grid {

// A datagram on the local network. It contains no secret and no address; the address is its source.
struct LanMessage {
  enum class Kind : std::uint8_t {
    seek = 1,  // which members of this run are there?
    here,      // I am here
  } kind = Kind::seek;
  std::array<std::uint8_t, 32> topic = {};  // a hash of the run's id that does not reveal the id
  std::uint16_t port = 0;                   // listening port; 0: none
  std::uint64_t sender = 0;                 // random per process, to ignore its own datagrams
};
std::string coded(const LanMessage& word);
LanMessage read_lan_word(std::string_view bytes);  // throws MalformedMessage

}  // namespace veche::grid
