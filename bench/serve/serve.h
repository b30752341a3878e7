#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Pictures per second that `veche serve` answers to 16 clients over HTTP, on one core, beside the model alone
// at batch 32 on the same core: what decoding, batching and HTTP cost. Throws RunError when an answer is not
// the model's.
std::vector<BenchCase> bench_serve(const BenchOptions& options);

}  // namespace veche
