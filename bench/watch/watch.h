#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Images per second of a run whose live page four viewers have open, beside the same run with nobody
// watching. The page has a long past: as much to tell as of ten thousand reports. Viewers do what the page
// does, in threads of this process; by the processor's time their work counts as well. Besides, without
// comparing rates that vary: what the page's own threads take of the processors beside those of the training.
// Throws RunError when a viewer has not heard of the run.
std::vector<BenchCase> bench_watch(const BenchOptions& options);

}  // namespace veche
