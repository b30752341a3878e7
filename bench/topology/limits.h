#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Seconds of whole `veche topology` commands, each in its own process on one core, beside the
// promised limit. Every answer is checked (rho, and the certificate of optimal weights) before its
// time counts.
std::vector<BenchCase> bench_topology(const BenchOptions& options);

}  // namespace veche
