#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Images per second of testing, beside PyTorch's eval() under no_grad, channels-last, with the same weights
// and statistics on the same images: on one core, and with all that the process may use. Throws RunError when
// the two sides disagree or the peer cannot be run.
std::vector<BenchCase> bench_evaluate(const BenchOptions& options);

}  // namespace veche
