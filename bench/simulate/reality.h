#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// What `veche simulate` predicts beside what happens: the cnn on four hosts of the network laboratory at 100 and
// 10 Mbit/s, predicted from figures that were measured between two. The ratio is how near they are. Needs
// root; minutes.
std::vector<BenchCase> bench_reality(const BenchOptions& options);

}  // namespace veche
