#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// From files to batches: packed sets beside the files they were packed from, and how soon a run on one
// begins.
std::vector<BenchCase> bench_load(const BenchOptions& options);

}  // namespace veche
