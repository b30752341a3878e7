#pragma once

#include <string>

#include "veche/comm/cluster.h"

namespace veche {

// Measures latency and bandwidth between every two ranks of a job, one way and both ways at once, and returns
// the section [network] that simulates them: a star whose links take what was measured. Collective; the text is the same
// on all ranks.
std::string measured_network(Job& job);

}  // namespace veche
