#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Four hosts joined by 100 Mbit/s (scripts/netlab; needs root), `cnn` with batch 25 on Fashion-MNIST, beside
// PyTorch DDP over Gloo: `allreduce` in images per second, in turn, without a codec and with two that DDP has
// hooks for; then the seconds of local SGD, without and with a codec, to a test accuracy, 88 % unless asked
// otherwise, beside the peer's, once, also at 10 Mbit/s. Both measure the accuracy every so many
// steps and do not count the time of that. Throws RunError when a side fails or does not reach it.
std::vector<BenchCase> bench_slow_network(const BenchOptions& options);

}  // namespace veche
