#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Images per second of one training step (forward, backward, optimizer) in one thread, beside
// PyTorch's usual training loop from the same weights on the same batches, plain and channels-last.
// Throws RunError if the two sides disagree or the peer cannot be run.
std::vector<BenchCase> bench_step(const BenchOptions& options);

// The same with as many threads on both sides as the process has cores.
std::vector<BenchCase> bench_threads(const BenchOptions& options);

}  // namespace veche
