#include "veche/train/views/node_self.h"

#include <cmath>

#include "veche/vector_math.h"

namespace veche {

NodeState state_of(NodeSelf& self) {
  NodeState state{.step = self.step,
                  .train = self.train,
                  .evaluated = self.evaluated_train,
                  .sent = self.sent,
                  .vectors = {self.learner->parameters(), self.learner->buffers()},
                  .numbers = {},
                  .counters = {&self.lost, &self.activations.bytes, &self.activations.messages},
                  .trains = true};
  for (const std::span<float> part : self.optimizer->state()) state.vectors.push_back(part);
  if (!self.pruner.mask().empty()) state.vectors.push_back(self.pruner.mask());
  return state;
}

void finish_alone(NodeSelf& self, const TrainingPlan& plan) {
  KeptWork& work = self.work;
  const std::span<float> x = self.learner->parameters(), gradient = self.learner->gradients();
  if (work.there && work.stepped) {
    std::ranges::copy(work.after, x.begin());
  } else if (work.there && work.has_samples) {
    std::ranges::copy(work.gradient, gradient.begin());
    self.pruner.apply(gradient);
    const double norm = std::sqrt(squared_norm(gradient));
    const double clipped = plan.clip > 0 && norm > plan.clip ? plan.clip / norm : 1;
    self.optimizer->update(x, gradient,
                           {plan.schedule.rate(self.step), clipped, self.step + 1, plan.threads});
  }
  work.forget();
}

}  // namespace veche
