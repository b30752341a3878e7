#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/export.h"

namespace veche {

// Turns a gradient into new parameters, in one pass over the flat vectors. Belongs to one node.
class VECHE_API Optimizer {
 public:
  virtual ~Optimizer() = default;

  struct Step {
    double rate = 0;            // learning rate
    double gradient_scale = 1;  // multiplies the gradient: clipping without a pass of its own
    std::uint64_t number = 0;   // of this update, from 1
    int threads = 1;            // that may share the work; the result does not depend on them
  };
  // Writes the new parameters into `into`, which may be the same memory as `parameters`.
  virtual void update(std::span<float> into, std::span<const float> parameters,
                      std::span<const float> gradients, const Step& step) = 0;
  void update(std::span<float> parameters, std::span<const float> gradients, const Step& step) {
    update(parameters, parameters, gradients, step);
  }
  // The vectors that a checkpoint must save, such as momentum.
  virtual std::vector<std::span<float>> state() = 0;
};

}  // namespace veche
