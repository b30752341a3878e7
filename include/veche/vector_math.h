#pragma once

#include <span>

#include "veche/export.h"

namespace veche {

// Passes over long vectors at the speed of memory. All spans of one call have the same length and do not
// overlap unless it says so. Sums are taken in the order given, so that equal inputs give equal bits
// everywhere.

// out = sum_k weights[k] * inputs[k], in one pass. There is at least one input.
VECHE_API void weighted_sum(std::span<float> out, std::span<const std::span<const float>> inputs,
                            std::span<const float> weights);

// out = the sum of the vectors, of which there is at least one.
VECHE_API void sum(std::span<float> out, std::span<const std::span<float>> vectors);
// Every one of the vectors becomes the sum of all. There is at least one.
VECHE_API void sum_everywhere(std::span<const std::span<float>> vectors);
// into += x
VECHE_API void add(std::span<float> into, std::span<const float> x);
// x *= factor
VECHE_API void scale(std::span<float> x, float factor);
// The average of models, the same to the bit wherever it is evaluated, exported or gone on from. Each model
// added moves it by its difference over their number so far: equal models average to just that model.
class VECHE_API ModelAverage {
 public:
  // Becomes the average; of the models' length.
  explicit ModelAverage(std::span<float> out) : out_(out) {}
  VECHE_API void add(std::span<const float> model);
  // When all were added, of which there is at least one. The next one added begins anew.
  void finish();

 private:
  const std::span<float> out_;
  int count_ = 0;
};

// Sum of squares, in double precision.
VECHE_API double squared_norm(std::span<const float> x);

// How far x is from y in three norms.
struct Distance {
  double l1 = 0;
  double l2_squared = 0;
  double linf = 0;
};
VECHE_API Distance distance(std::span<const float> x, std::span<const float> y);

}  // namespace veche
