#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Encoding and decoding of 1.5 M floats on one core, with every instruction set of the machine,
// beside copying them; `topk` and `qsgd` beside PyTorch's operators; `powersgd` of the cnn's
// gradient beside PyTorch's hook, both without a network. Throws RunError if a result is wrong.
std::vector<BenchCase> bench_compress(const BenchOptions& options);

}  // namespace veche
