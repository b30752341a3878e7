#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// From files to batches: packed sets beside the files they were packed from, batches prepared for training
// beside PyTorch's DataLoader, and how soon a run on a packed set begins.
std::vector<BenchCase> bench_load(const BenchOptions& options);

}  // namespace veche
