#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace veche {

// A vector length, as text and in bytes.
struct VectorSize {
  std::string name;
  std::size_t bytes = 0;
};

// The vector sizes to measure: 1 KB to 64 MB, or the requested ones. Throws RequestError for an
// unknown size.
std::vector<VectorSize> vector_sizes(const BenchOptions& options);

// The numbers of nodes or ranks to measure; any number from 2 may be requested.
std::vector<int> node_counts(const BenchOptions& options, std::vector<int> usual);

}  // namespace veche
