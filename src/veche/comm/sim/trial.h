#pragma once

#include "veche/comm/sim/sim.h"

namespace veche {

// Builds the platform and asks for the routes between its nodes, in a process of its own: SimGrid ends the
// process where something is wrong. Throws RequestError with the reason: what SimGrid stopped at, hosts that
// are too few or without a route, links without bandwidth, too much memory or time. Of more than some hundred
// nodes not all routes are asked for.
void try_platform(int nodes, const SimNetwork& network, const SimPlatform& platform);

}  // namespace veche
