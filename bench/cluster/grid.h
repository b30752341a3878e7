#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Two grid members on this machine, linked by TLS, beside two ranks under mpirun, alternating:
// images per second with all-reduce. Throws RunError if a side fails or its nodes differ.
std::vector<BenchCase> bench_grid(const BenchOptions& options);

// Four of each on hosts joined by 100 Mbit/s (scripts/netlab; needs root), alternating, `cnn` with
// batch 25 on Fashion-MNIST and local SGD: seconds to a test accuracy, 88 % by default. Evaluation
// time is not counted. Throws RunError if a side fails or does not reach the accuracy.
std::vector<BenchCase> bench_grid_slow(const BenchOptions& options);

}  // namespace veche
