#pragma once

#include <string>

#include "veche/comm/cluster.h"

namespace veche {

// Measures latency and bandwidth between every two ranks of a job, one way and full duplex. Returns
// a [network] section that simulates them: a star whose links have the measured figures.
// Collective; all ranks get the same text.
std::string measured_network(Job& job);

}  // namespace veche
