#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Images per second that `veche serve` answers to 16 HTTP clients on one core, beside the model
// alone at batch 32 on the same core: the cost of decoding, batching and HTTP. Throws RunError if
// an answer differs from the model's.
std::vector<BenchCase> bench_serve(const BenchOptions& options);

}  // namespace veche
