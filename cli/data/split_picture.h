#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veche/graph/drawing/picture.h"

namespace veche::cli {

// Samples per node and class: counts[node][class].
struct SplitCounts {
  std::vector<std::vector<std::uint64_t>> counts;
  std::vector<std::string> classes;  // class names

  std::uint64_t samples(std::size_t node) const;
};

// Nodes from left to right, classes from top to bottom; the area of a disc is the number of
// samples. Throws RequestError above 1,000 nodes or classes, where a picture shows nothing useful.
Picture draw_split(const SplitCounts& split, const std::string& title);

}  // namespace veche::cli
