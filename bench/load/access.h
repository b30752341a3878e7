#pragma once

#include <vector>

#include "bench/bench.h"
#include "bench/load/small_files.h"

namespace veche {

// Samples per second read at random, each once, by one thread, from small JPEG files packed and from the same
// files in a folder: the bytes alone, and decoded. Before each side the system forgets names and pages, where
// it lets us (as root); else the cases' names say so. Throws RunError when a sample differs between the two.
std::vector<BenchCase> bench_random_access(const SmallFiles& files, const BenchOptions& options);

// How soon the first step of training on the decoded packed set is made, from the command on: resnet20, 4
// nodes, beside the promised limit.
BenchCase bench_start(const SmallFiles& files, const BenchOptions& options);

}  // namespace veche
