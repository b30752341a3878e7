#pragma once

#include "bench/bench.h"

namespace veche {

// gpt-nano on two single-threaded ranks under mpirun that share every gradient, beside PyTorch's
// DistributedDataParallel over Gloo, alternating. Throws RunError if a side fails or its nodes
// differ.
BenchCase text_on_two_ranks(const BenchOptions& options);

}  // namespace veche
