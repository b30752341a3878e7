#pragma once

#include <simgrid/s4u.hpp>
#include <vector>

#include "veche/comm/sim/sim.h"

namespace veche {

// Loads a checked platform into SimGrid. If it is invalid, SimGrid throws or ends the process: see
// try_platform.
void load_platform(simgrid::s4u::Engine& engine, const SimPlatform& platform);

// All hosts in natural order of their names: "host10" comes after "host9".
std::vector<simgrid::s4u::Host*> sorted_hosts(const simgrid::s4u::Engine& engine);

// The links of that name: one, or the two directions of one.
std::vector<simgrid::s4u::Link*> links_named(const simgrid::s4u::Engine& engine, const std::string& name);

// Builds the network in the engine and returns the nodes' hosts, in order.
std::vector<simgrid::s4u::Host*> build_platform(simgrid::s4u::Engine& engine, int nodes,
                                                const SimNetwork& network, const SimPlatform& platform);

}  // namespace veche
