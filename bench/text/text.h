#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Tokens per second of language models in one thread, beside the same models in PyTorch's usual
// loop with the same weights and tokens: a training step (forward, backward, clipping, AdamW), and
// the continuation of one text with a cache; also training on two ranks, beside PyTorch DDP. Throws
// RunError if losses or tokens differ.
std::vector<BenchCase> bench_text(const BenchOptions& options);

}  // namespace veche
