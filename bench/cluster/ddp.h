#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Training under mpirun beside PyTorch's DistributedDataParallel over Gloo, in turn: images per second of two
// ranks with a thread each on this machine. Throws RunError when a side fails or its nodes differ.
std::vector<BenchCase> bench_ddp(const BenchOptions& options);

}  // namespace veche
