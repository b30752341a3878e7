#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Images per second of evaluation, beside PyTorch's eval() under no_grad, channels-last, with the
// same weights and statistics on the same images: on one core, and on all cores of the process.
// Throws RunError if the two sides disagree or the peer cannot be run.
std::vector<BenchCase> bench_evaluate(const BenchOptions& options);

}  // namespace veche
