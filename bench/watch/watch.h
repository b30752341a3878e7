#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Images per second of a run whose live page four viewers have open, beside the same run without
// viewers. The page has a long history of ten thousand reports. Viewers behave like the page, in
// threads of this process, so their work is included in CPU time. Also measures, without comparing
// noisy rates, the CPU time of the page's own threads beside that of the training. Throws RunError
// if a viewer has received nothing about the run.
std::vector<BenchCase> bench_watch(const BenchOptions& options);

}  // namespace veche
