#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// What agreeing costs: images per second of four nodes with consensus after every step, beside the same nodes
// that never talk. Throws RunError when consensus does not bring the nodes together.
std::vector<BenchCase> bench_agree(const BenchOptions& options);

}  // namespace veche
