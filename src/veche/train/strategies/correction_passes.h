#pragma once

#include <cstddef>
#include <span>

namespace veche {

// A node's correction: numbers that add up to zero over all nodes. Every update must keep that sum;
// otherwise the mean of all models drifts, further with every step. So each number is two floats,
// the second of which holds the rounding error of the first, and changes only by flows between two
// nodes: what one end of an edge gains, the other end loses, computed alike at both ends. The
// rounding error of the model is kept as well, and added to it once, at the next mixing.
struct Correction {
  std::span<float> high, low;
  std::span<float> rest;  // rounding error of the model
};

// out = x + correction + rest
void add_correction(std::span<float> out, std::span<const float> x, const Correction& correction);

// The flow to this node is sum_j w_j (y_j - y): y is `mine`, what add_correction made of x, the y_j
// are the neighbours'. Makes x + rest = x + correction + rest + flow, the weighted mean of all, and
// adds the flow to the correction. All are as long as `x` and do not overlap.
void mix_with_flow(std::span<float> x, const Correction& correction, std::span<const float> mine,
                   std::span<const std::span<const float>> neighbours, std::span<const double> weights);

}  // namespace veche
