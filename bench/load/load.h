#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// From files to batches: packed sets beside the original files, batches prepared for training
// beside PyTorch's DataLoader, and the start-up time of a run on a packed set.
std::vector<BenchCase> bench_load(const BenchOptions& options);

}  // namespace veche
