#pragma once

#include <memory>
#include <simgrid/s4u.hpp>

#include "veche/comm/sim/sim.h"

namespace veche {

// SimGrid, told what to simulate; it says nothing on standard error and leaves the signals of this process
// alone. Once a process: RequestError.
std::unique_ptr<simgrid::s4u::Engine> make_sim_engine(int nodes, const SimNetwork& network);

}  // namespace veche
