#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Many nodes on few cores beside 4 nodes with the same samples per step: 36 with resnet20, and
// 1,000. Also their peak memory and start-up time, beside what is promised.
std::vector<BenchCase> bench_crowd(const BenchOptions& options);
// The same for 3,000 with resnet20 and 10,000 with mlp.
std::vector<BenchCase> bench_crowd_large(const BenchOptions& options);

}  // namespace veche
