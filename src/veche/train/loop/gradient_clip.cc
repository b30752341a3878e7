#include "veche/train/loop/gradient_clip.h"

#include "veche/train/optim/model_step.h"
#include "veche/vector_math.h"

namespace veche {

double GradientClip::scale() {
  if (limit_ == 0) return last_ = 1;
  last_ = 0;
  double squares = squared_norm(model_.learner->gradients());
  if (pipeline_ != nullptr) squares = pipeline_->sum(squares);
  return last_ = clip_scale(limit_, squares);
}

void GradientClip::apply() {
  const std::span<float> gradient = model_.learner->gradients();
  model_.pruner.apply(gradient);
  veche::scale(gradient, static_cast<float>(scale()));
}

}  // namespace veche
