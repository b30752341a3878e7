#pragma once

#include <vector>

#include "bench/bench.h"

namespace veche {

// Samples per second read at random, each once, by one thread, from 60,000 small JPEG files packed and from
// the same files in a folder: the bytes alone, and decoded. Before each side the system forgets names and
// pages, where it lets us (as root); else the cases' names say so. Throws RunError when a sample differs
// between the two.
std::vector<BenchCase> bench_random_access(const BenchOptions& options);

}  // namespace veche
