#pragma once

#include "veche/comm/sim/sim.h"

namespace veche {

// Builds the platform and queries the routes between its nodes in a child process, since SimGrid
// ends the process on an error. Throws RequestError with the reason: SimGrid's error, too few
// hosts, missing routes, links without bandwidth, too much memory or time. For more than some
// hundred nodes not all routes are queried.
void try_platform(int nodes, const SimNetwork& network, const SimPlatform& platform);

}  // namespace veche
