#include "veche/train/optim/model_step.h"

#include <cmath>

namespace veche {

double clip_scale(double clip, double squared_norm) {
  const double norm = std::sqrt(squared_norm);
  return clip > 0 && norm > clip ? clip / norm : 1;
}

void make_step(Optimizer& optimizer, std::span<float> into, std::span<const float> x,
               std::span<const float> gradient, const ModelStep& step) {
  optimizer.update(
      into, x, gradient,
      {.rate = step.rate, .gradient_scale = step.scale, .number = step.step + 1, .threads = step.threads});
}

}  // namespace veche
