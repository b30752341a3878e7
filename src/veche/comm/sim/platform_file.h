#pragma once

#include <string>
#include <vector>

#include "veche/comm/sim/profile.h"

namespace veche {

struct SimNetwork;

// A platform file of SimGrid's that was looked through.
struct SimPlatform {
  std::string file;
  // For SimGrid to read: hosts, links and routes, each in the line that it has in the file. Everything that
  // could make SimGrid do something else, and the profiles, which Veche plays itself, are left out.
  std::string xml;
  std::vector<SimProfile> profiles;
};

// Reads network.platform. SimGrid trusts its files: it writes traces where they say, loads plugins, takes any
// speed for one, and ends the process where something is wrong. So this names what may be in a file, and
// throws RequestError with file and line for anything else: settings other than those of the network's model,
// wireless links, deployments, values that are negative or no numbers, more hosts than fit into memory.
SimPlatform read_platform(const SimNetwork& network);

}  // namespace veche
