#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// All-reduce between threads, 1 KB to 64 MB, 2 to 16 nodes. Compares `auto` with the best of the
// other algorithms, and with threads that copy the bytes an all-reduce must move, 2(n-1)/n of the
// vector, and then meet at a barrier, since no all-reduce can end before all have arrived. Then
// measures the cost of all-reduce in a training run. With `options.tune`, saves a table of the best
// algorithms. Throws RunError if a sum is wrong.
std::vector<BenchCase> bench_allreduce(const BenchOptions& options);

}  // namespace veche
