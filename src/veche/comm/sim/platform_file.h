#pragma once

#include <string>
#include <vector>

#include "veche/comm/sim/profile.h"

namespace veche {

struct SimNetwork;

// A checked SimGrid platform file.
struct SimPlatform {
  std::string file;
  // The text for SimGrid: hosts, links and routes, each on the same line as in the file. Without
  // profiles, which Veche plays itself, and without anything else that affects SimGrid.
  std::string xml;
  std::vector<SimProfile> profiles;
};

// Reads network.platform. SimGrid trusts its files: it writes traces to any path, loads plugins,
// accepts any speed, and ends the process on an error. This function therefore accepts a list of
// known elements and throws RequestError with file and line for anything else: settings other than
// the network model's, wireless links, deployments, negative values or values that are not numbers,
// more hosts than fit in memory.
SimPlatform read_platform(const SimNetwork& network);

}  // namespace veche
