#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace veche {

// A vector's length, as people say it and in bytes.
struct VectorSize {
  std::string name;
  std::size_t bytes = 0;
};

// Those that all-reduce is measured with: 1 KB to 64 MB, or the ones asked for. Throws RequestError when one
// asked for is not among them.
std::vector<VectorSize> vector_sizes(const BenchOptions& options);

// The same for how many nodes or ranks; any number from 2 may be asked for.
std::vector<int> node_counts(const BenchOptions& options, std::vector<int> usual);

}  // namespace veche
