#pragma once

#include <memory>
#include <simgrid/s4u.hpp>

#include "veche/comm/sim/sim.h"

namespace veche {

// Sets up SimGrid, silent on standard error and without its signal handlers. Once per process:
// otherwise RequestError.
std::unique_ptr<simgrid::s4u::Engine> make_sim_engine(int nodes, const SimNetwork& network);

}  // namespace veche
