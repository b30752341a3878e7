#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// The cost of consensus: images per second of four nodes with consensus after every step, beside
// the same nodes without communication. Throws RunError if consensus does not bring the nodes
// together.
std::vector<BenchCase> bench_agree(const BenchOptions& options);

}  // namespace veche
