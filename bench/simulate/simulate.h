#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Whole commands `veche simulate` on one core beside their limits: 1,000 and 10,000 nodes that do not learn,
// what a message costs from 100 to 10,000 nodes, and 4 nodes that learn beside the same as threads.
std::vector<BenchCase> bench_simulate(const BenchOptions& options);

}  // namespace veche
