#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Whole `veche simulate` commands on one core beside their limits: 1,000 and 10,000 nodes that do
// not learn, the cost per message from 100 to 10,000 nodes, and 4 learning nodes beside the same
// run on threads.
std::vector<BenchCase> bench_simulate(const BenchOptions& options);

}  // namespace veche
