#pragma once

#include <cstddef>
#include <span>

namespace veche {

// A node's correction: numbers that add up to zero over all nodes. Whatever is added up step by step must
// keep that sum, or the mean of all models moves, further with every step. So each number is two floats, the
// second of which holds what the first has no room for, and changes only by flows between two nodes: what one
// end of an edge gets, the other end loses, computed alike at both ends. What the model itself has no room
// for is kept as well, and given to it once, at the next mixing.
struct Correction {
  std::span<float> high, low;
  std::span<float> rest;  // of the model
};

// out = x + correction + rest
void add_correction(std::span<float> out, std::span<const float> x, const Correction& correction);

// The flow to this node is sum_j w_j (y_j - y): y is `mine`, what add_correction made of x, the y_j are the
// neighbours'. Makes x + rest = x + correction + rest + flow, the weighted mean of all, and adds the flow to
// the correction. All are as long as `x` and do not overlap.
void mix_with_flow(std::span<float> x, const Correction& correction, std::span<const float> mine,
                   std::span<const std::span<const float>> neighbours, std::span<const double> weights);

}  // namespace veche
