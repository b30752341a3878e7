#pragma once

#include <span>

#include "veche/export.h"

namespace veche {

// Operations on long vectors at memory speed. All spans of a call have the same length and do not
// overlap unless noted. Sums are taken in the given order, so equal inputs give equal bits on every
// machine.

// out = sum_k weights[k] * inputs[k], in one pass. At least one input.
VECHE_API void weighted_sum(std::span<float> out, std::span<const std::span<const float>> inputs,
                            std::span<const float> weights);

// out = sum of the vectors. At least one vector.
VECHE_API void sum(std::span<float> out, std::span<const std::span<float>> vectors);
// Replaces each vector by the sum of all. At least one vector.
VECHE_API void sum_everywhere(std::span<const std::span<float>> vectors);
// into += x
VECHE_API void add(std::span<float> into, std::span<const float> x);
// x *= factor
VECHE_API void scale(std::span<float> x, float factor);
// Running average of models. The result has the same bits in evaluation, export and resumption.
// Each added model moves the average by difference / count, so equal models average to exactly that
// model.
class VECHE_API ModelAverage {
 public:
  // `out` receives the average and has the models' length.
  explicit ModelAverage(std::span<float> out) : out_(out) {}
  VECHE_API void add(std::span<const float> model);
  // Call after all models were added, at least one. The next `add` starts a new average.
  void finish();

 private:
  const std::span<float> out_;
  int count_ = 0;
};

// Sum of squares, in double precision.
VECHE_API double squared_norm(std::span<const float> x);

// Distance of x from y in three norms.
struct Distance {
  double l1 = 0;
  double l2_squared = 0;
  double linf = 0;
};
VECHE_API Distance distance(std::span<const float> x, std::span<const float> y);

}  // namespace veche
