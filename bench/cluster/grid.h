#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Two members of a grid on this machine, linked by TLS, beside two ranks under mpirun, in turn: images per
// second with all-reduce. Throws RunError when a side fails or its nodes differ.
std::vector<BenchCase> bench_grid(const BenchOptions& options);

// Four of each on hosts joined by 100 Mbit/s (scripts/netlab; needs root), in turn, `cnn` with batch 25 on
// Fashion-MNIST and local SGD: seconds to a test accuracy, 88 % unless asked otherwise. Testing is not
// counted. Throws RunError when a side fails or does not reach it.
std::vector<BenchCase> bench_grid_slow(const BenchOptions& options);

}  // namespace veche
