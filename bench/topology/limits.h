#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Seconds of whole commands `veche topology`, each a process of its own on one core, beside the limit
// promised for it. Every answer is checked (rho, and for optimal weights their certificate) before its time
// counts.
std::vector<BenchCase> bench_topology(const BenchOptions& options);

}  // namespace veche
