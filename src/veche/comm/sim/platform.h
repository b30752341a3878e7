#pragma once

#include <simgrid/s4u.hpp>
#include <vector>

#include "veche/comm/sim/sim.h"

namespace veche {

// Gives SimGrid the platform that was read. Where something is wrong with it, SimGrid throws or ends the
// process: see try_platform.
void load_platform(simgrid::s4u::Engine& engine, const SimPlatform& platform);

// All hosts by their names, the numbers inside them as numbers: "host10" comes after "host9".
std::vector<simgrid::s4u::Host*> sorted_hosts(const simgrid::s4u::Engine& engine);

// The links of that name: one, or the two directions of one.
std::vector<simgrid::s4u::Link*> links_named(const simgrid::s4u::Engine& engine, const std::string& name);

// Builds the network in the engine and returns the hosts of the nodes, in order.
std::vector<simgrid::s4u::Host*> build_platform(simgrid::s4u::Engine& engine, int nodes,
                                                const SimNetwork& network, const SimPlatform& platform);

}  // namespace veche
