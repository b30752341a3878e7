#pragma once

#include <vector>

#include "bench/bench.h"
#include "bench/load/small_files.h"

namespace veche {

// Samples per second of one thread that reads each sample once in random order, from packed small
// JPEG files and from the same files in a folder: bytes only, and decoded. Before each side the
// system's caches of names and pages are dropped if permitted (as root); otherwise the case names
// say so. Throws RunError if a sample differs between the two.
std::vector<BenchCase> bench_random_access(const SmallFiles& files, const BenchOptions& options);

// Seconds from the command to the first training step on the decoded packed set: resnet20, 4 nodes,
// beside the promised limit.
BenchCase bench_start(const SmallFiles& files, const BenchOptions& options);

}  // namespace veche
