#include "veche/train/views/member_state.h"

#include "veche/train/optim/model_step.h"
#include "veche/vector_math.h"

namespace veche {

std::span<float> take_kept_gradient(MemberState& self) {
  const std::span<float> gradient = self.learner->gradients();
  std::ranges::copy(self.work.gradient, gradient.begin());
  self.pruner.apply(gradient);
  return gradient;
}

void finish_alone(MemberState& self, const TrainingPlan& plan) {
  KeptWork& work = self.work;
  const std::span<float> x = self.learner->parameters();
  if (work.there && work.stepped) {
    std::ranges::copy(work.after, x.begin());
  } else if (work.there && work.has_samples) {
    const std::span<const float> gradient = take_kept_gradient(self);
    const double clipped = work.scale > 0 ? work.scale : clip_scale(plan.clip, squared_norm(gradient));
    make_step(*self.optimizer, x, gradient, {self.step, work.rate, clipped, plan.threads});
  }
  work.forget();
}

}  // namespace veche
