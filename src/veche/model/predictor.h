#pragma once

#include <span>

namespace veche {

// Optional interface of a learner that can return class probabilities; use
// dynamic_cast<Predictor*>. One thread at a time, as for the learner.
class Predictor {
 public:
  virtual ~Predictor() = default;

  virtual int classes() const = 0;
  // Writes the probabilities of every class, classes() floats per sample. `images` are normalised
  // floats as in a Batch (veche/batch.h); the number of samples follows from the sizes. Changes no
  // state: no dropout; batch norm uses its stored statistics.
  virtual void predict(std::span<const float> images, std::span<float> probabilities) = 0;
};

}  // namespace veche
