#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veche/graph/drawing/picture.h"

namespace veche::cli {

// How many samples of each class each node has: counts[node][class].
struct SplitCounts {
  std::vector<std::vector<std::uint64_t>> counts;
  std::vector<std::string> classes;  // their names

  std::uint64_t samples(std::size_t node) const;
};

// Nodes from left to right, classes from top to bottom; the area of a disc is the number of samples.
// RequestError above 1,000 nodes or classes, of which no picture tells anything.
Picture draw_split(const SplitCounts& split, const std::string& title);

}  // namespace veche::cli
