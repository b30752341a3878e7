#pragma once

#include <cstdint>
#include <vector>

#include "veche/options.h"

namespace veche {

// Nodes of unequal speed, from [cluster]: speed, train_every (qt) and mix_every (qc), each one number or one
// a node; and their mishaps.
struct NodeSpeeds {
  std::vector<double> speed;               // empty: all equal
  std::vector<std::uint64_t> train_every;  // follows from speed unless given; empty: every step
  std::vector<std::uint64_t> mix_every;    // empty: as the strategy says
  std::vector<double> slowness;            // times a pass is to take; empty: as long as it takes
  double stall_probability = 0;            // after a pass
  double stall_seconds = 0;                // the longest
};

// `one_machine`: all nodes are on it. Throws RequestError when a list does not have one number a node, or a
// number makes no sense.
NodeSpeeds read_node_speeds(const Options& cluster, int nodes, bool one_machine = true);

}  // namespace veche
