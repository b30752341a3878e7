#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Many nodes on few cores: 36 resnet20 nodes on a torus, batch 6, beside 4 nodes with the same total batch;
// and the most memory they needed, beside 2 GiB.
std::vector<BenchCase> bench_crowd(const BenchOptions& options);

}  // namespace veche
