#pragma once

#include <simgrid/s4u.hpp>
#include <vector>

#include "veche/comm/sim/sim.h"

namespace veche {

// Whether SimGrid can read the file, and how many hosts it has: tried in a process of its own, for SimGrid
// ends the process where something is wrong. Throws RequestError in its words.
int hosts_in_platform(const std::string& file);

// Builds it in the engine and returns the hosts of the nodes, in order: those of a file by their names, the
// numbers inside them as numbers.
std::vector<simgrid::s4u::Host*> build_platform(simgrid::s4u::Engine& engine, int nodes,
                                                const SimNetwork& network);

}  // namespace veche
