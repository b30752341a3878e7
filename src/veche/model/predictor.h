#pragma once

#include <span>

namespace veche {

// What a learner also is when it can tell more of a sample than whether it was right: ask for it with
// dynamic_cast<Predictor*>. One thread at a time, as for the learner.
class Predictor {
 public:
  virtual ~Predictor() = default;

  virtual int classes() const = 0;
  // The probability of every class, sample after sample, classes() floats each. `images` are normalised
  // floats as those of a Batch (veche/batch.h), of as many samples as there is room for. Changes nothing: no
  // dropout, stored statistics.
  virtual void predict(std::span<const float> images, std::span<float> probabilities) = 0;
};

}  // namespace veche
