#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Packs a made-up CSV file of 1 GB: bytes per second and peak memory beside the promised limits.
// Then rows per second of a loader beside the training of an mlp. The packed numbers are verified.
std::vector<BenchCase> bench_table(const BenchOptions& options);

}  // namespace veche
