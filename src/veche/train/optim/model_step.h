#pragma once

#include <cstdint>
#include <span>

#include "veche/train/optim/optimizer.h"

namespace veche {

// One optimizer step of a model. All steps are made here: those of the training loop, of a node
// that completes a step without the others, of a newcomer that replays steps, and of a parameter
// server.
struct ModelStep {
  std::uint64_t step = 0;  // steps made before this one
  double rate = 0;         // learning rate
  double scale = 1;        // of the gradient, see clip_scale
  int threads = 1;         // may share the work; the result does not depend on their number
};

// The factor that brings a gradient of this squared norm to a norm of at most `clip`; 0: no limit.
double clip_scale(double clip, double squared_norm);

// Writes the optimizer's result for x and the gradient into `into`, which may be x. The same
// optimizer state, vectors and step give the same bits.
void make_step(Optimizer& optimizer, std::span<float> into, std::span<const float> x,
               std::span<const float> gradient, const ModelStep& step);
inline void make_step(Optimizer& optimizer, std::span<float> x, std::span<const float> gradient,
                      const ModelStep& step) {
  make_step(optimizer, x, x, gradient, step);
}

}  // namespace veche
