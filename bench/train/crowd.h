#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Many nodes on few cores beside 4 nodes with the same samples a step: 36 of resnet20, and 1,000. Also the
// most memory they needed and how long they took to begin, beside what is promised.
std::vector<BenchCase> bench_crowd(const BenchOptions& options);
// The same for 3,000 of resnet20 and 10,000 of mlp.
std::vector<BenchCase> bench_crowd_large(const BenchOptions& options);

}  // namespace veche
