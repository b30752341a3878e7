#pragma once

#include <cstddef>

#include "veche/endpoint.h"

namespace veche::grid {

// How much a member does for others that cannot reach each other.
struct RelayLimits {
  std::size_t pairs = 64;            // of connections, waiting ones too
  std::size_t pairs_of_member = 16;  // that have it at one of their ends
  std::size_t buffer = 128U << 10;   // bytes of one direction that have come and are not sent on yet
  Time wait{5};                      // for both to dial
  Time idle{15};                     // that nothing may come: members send heartbeats
};

}  // namespace veche::grid
