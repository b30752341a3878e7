#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Four hosts joined by 100 Mbit/s (scripts/netlab; needs root), `cnn` with batch 25 on
// Fashion-MNIST, beside PyTorch DDP over Gloo. First `allreduce` in images per second, alternating,
// without compression and with the two codecs that DDP has hooks for. Then the seconds of local
// SGD, with and without a codec, to a test accuracy (88 % by default), beside the peer's, once,
// also at 10 Mbit/s. Both sides measure the accuracy at the same interval and do not count its
// time. Throws RunError if a side fails or does not reach the accuracy.
std::vector<BenchCase> bench_slow_network(const BenchOptions& options);

}  // namespace veche
