#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Loops in Python: what handing a step over costs, a PyTorch loop of two ranks beside PyTorch's
// DistributedDataParallel, exchanges and strategies beside those in C++. Both sides in turn. Throws
// RunError if a side fails or the results differ.
std::vector<BenchCase> bench_python(const BenchOptions& options);

// A loop on four hosts with slow links beside DistributedDataParallel: seconds to an accuracy. The
// peer is stopped when it has taken longer than the promise needs, and the note says so. Needs
// root.
std::vector<BenchCase> bench_python_hosts(const BenchOptions& options);

}  // namespace veche
