#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// resnet50 in two stages on two ranks, beside one core and beside PyTorch; and the memory of stages
// by schedule.
std::vector<BenchCase> bench_pipeline(const BenchOptions& options);

}  // namespace veche
