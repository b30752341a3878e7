#pragma once

#include <cstdint>

#include "veche/comm/sim/sim.h"
#include "veche/settings.h"

namespace veche {

// The network of the [network] section for this many nodes. Throws RequestError for values that do
// not fit or make no sense.
SimNetwork read_network(const NetworkSettings& network, int nodes, std::uint64_t seed);

}  // namespace veche
