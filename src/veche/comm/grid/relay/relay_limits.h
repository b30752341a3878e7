#pragma once

#include <cstddef>

#include "veche/endpoint.h"

namespace veche::grid {

// Limits of relaying for other members.
struct RelayLimits {
  std::size_t pairs = 64;            // pairs of connections, including waiting ones
  std::size_t pairs_of_member = 16;  // pairs with one member at an end
  std::size_t buffer = 128U << 10;   // bytes per direction received but not yet forwarded
  Time wait{5};                      // for both sides to dial
  Time idle{15};                     // without data; members send heartbeats
};

}  // namespace veche::grid
