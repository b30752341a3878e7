#pragma once

#include <cstddef>
#include <span>

namespace veche {

// A node's correction: numbers that add up to zero over all nodes. Whatever is added up step by step must
// keep that sum, or the mean of all models moves, further with every step. So each number is two floats, the
// second of which holds what the first has no room for, and changes only by flows between two nodes: what one
// end of an edge gets, the other end loses, computed alike at both ends.
struct Correction {
  std::span<float> high, low;
};

// out = x + correction
void add_correction(std::span<float> out, std::span<const float> x, const Correction& correction);

// The flow to this node is sum_j w_j (y_j - y): y is `mine`, the y_j are the neighbours'. Adds it to the
// correction, and makes out = y + flow, the weighted mean of all. All are as long as `out` and do not
// overlap.
void mix_with_flow(std::span<float> out, const Correction& correction, std::span<const float> mine,
                   std::span<const std::span<const float>> neighbours, std::span<const double> weights);

}  // namespace veche
