#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Predictions of `veche simulate` beside measurements: the cnn on four hosts of the network
// laboratory at 100 and 10 Mbit/s, predicted from measurements between two hosts. The ratio says
// how close they are. Needs root; takes minutes.
std::vector<BenchCase> bench_reality(const BenchOptions& options);

}  // namespace veche
