#pragma once

#include <cstdint>
#include <vector>

#include "veche/config.h"

namespace veche {

// Nodes of unequal speed, from [cluster]: speed, train_every (qt) and mix_every (qc); and random
// pauses.
struct NodeSpeeds {
  std::vector<double> speed;               // by replica; empty: all equal
  std::vector<std::uint64_t> train_every;  // follows from speed unless given; empty: every step
  std::vector<std::uint64_t> mix_every;    // empty: as the strategy says
  std::vector<double> slowness;            // by node: multiplies the time of a pass; empty: no node waits
  double stall_probability = 0;            // after a pass
  double stall_seconds = 0;                // the longest
};

// `one_machine`: all nodes are on it. Throws RequestError if a list does not have one number per
// node, or a number makes no sense.
NodeSpeeds read_speeds(const Settings& settings, bool one_machine);

}  // namespace veche
