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
                  .trains = true};
  for (const std::span<float> part : self.optimizer->state()) state.vectors.push_back(part);
  if (!self.pruner.mask().empty()) state.vectors.push_back(self.pruner.mask());
  return state;
}

double clip_scale(const NodeSelf& self, const TrainingPlan& plan) {
  if (plan.clip == 0) return 1;
  const double norm = std::sqrt(squared_norm(self.learner->gradients()));
  return norm > plan.clip ? plan.clip / norm : 1;
}

void optimizer_step(NodeSelf& self, const TrainingPlan& plan, std::uint64_t rate_step,
                    std::span<float> into) {
  self.pruner.apply(self.learner->gradients());
  self.optimizer->update(
      into, self.learner->parameters(), self.learner->gradients(),
      {plan.schedule.rate(rate_step), clip_scale(self, plan), self.step + 1, plan.threads});
}

void finish_alone(NodeSelf& self, const TrainingPlan& plan) {
  KeptWork& work = self.work;
  if (work.there && work.stepped) {
    std::ranges::copy(work.after, self.learner->parameters().begin());
  } else if (work.there && work.has_samples) {
    std::ranges::copy(work.gradient, self.learner->gradients().begin());
    optimizer_step(self, plan, self.step, self.learner->parameters());
  }
  work.forget();
}

}  // namespace veche
