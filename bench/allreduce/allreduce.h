#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// All-reduce between threads, 1 KB to 64 MB, 2 to 16 nodes: `auto` beside the best of the algorithms that it
// did not choose, and
// beside as many threads that each copy the bytes an all-reduce must move, 2(n-1)/n of the vector, and then
// wait for each other once, because no all-reduce can end before all have come. Then what all-reduce costs a
// training run. With `options.tune`, the best algorithms are saved there as a table. Throws RunError when a
// sum is wrong.
std::vector<BenchCase> bench_allreduce(const BenchOptions& options);

}  // namespace veche
