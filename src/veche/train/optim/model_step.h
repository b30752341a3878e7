#pragma once

#include <cstdint>
#include <span>

#include "veche/train/optim/optimizer.h"

namespace veche {

// One step of a model. Everybody who makes one makes it here: the training loop, a node that completes a step
// without the others, a newcomer that repeats the others' steps, a server of parameters.
struct ModelStep {
  std::uint64_t step = 0;  // steps that were made before this one
  double rate = 0;         // learning rate
  double scale = 1;        // of the gradient, see clip_scale
  int threads = 1;         // that may share the work; the result does not depend on them
};

// By what a gradient of this squared norm is scaled so that its norm is at most `clip`; 0: it may be any.
double clip_scale(double clip, double squared_norm);

// Writes what the optimiser makes of x and the gradient into `into`, which may be x. The same optimiser
// state, vectors and step give the same bits.
void make_step(Optimizer& optimizer, std::span<float> into, std::span<const float> x,
               std::span<const float> gradient, const ModelStep& step);
inline void make_step(Optimizer& optimizer, std::span<float> x, std::span<const float> gradient,
                      const ModelStep& step) {
  make_step(optimizer, x, x, gradient, step);
}

}  // namespace veche
