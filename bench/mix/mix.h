#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Bytes per second of the fused weighted sum of 3 and of 5 vectors of the cnn's length, beside a
// plain STREAM triad over as many bytes. Throws RunError if a result is wrong.
std::vector<BenchCase> bench_mix(const BenchOptions& options);

}  // namespace veche
