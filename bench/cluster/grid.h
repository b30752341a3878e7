#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Two members of a grid on this machine, linked by TLS, beside two ranks under mpirun, in turn: images per
// second with all-reduce. Throws RunError when a side fails or its nodes differ.
std::vector<BenchCase> bench_grid(const BenchOptions& options);

}  // namespace veche
