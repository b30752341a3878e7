#pragma once

#include <vector>

#include "bench/bench.h"
#include "bench/load/small_files.h"

namespace veche {

// Samples per second read at random, each once, by one thread, from small JPEG files packed and from the same
// files in a folder: the bytes alone, and decoded. Before each side the system forgets names and pages, where
// it lets us (as root); else the cases' names say so. Throws RunError when a sample differs between the two.
std::vector<BenchCase> bench_random_access(const SmallFiles& files, const BenchOptions& options);

// Seconds from the command to the first step of training on the packed set, beside the promised limit: a
// whole run of one step with a small model, its evaluation on few images included.
BenchCase bench_start(const SmallFiles& files, const BenchOptions& options);

}  // namespace veche
