#include "veche/train/views/partial_step.h"

#include <algorithm>

#include "veche/collectives.h"
#include "veche/train/optim/model_step.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// The state of the servers' optimizers before the step, joined from their parts. The part of a lost
// server begins at zero, as all parts do in a new view.
std::unique_ptr<Optimizer> servers_optimizer(MemberState& self, Channel& peers, const TrainingPlan& plan,
                                             bool has_kept) {
  auto optimizer =
      make_optimizer(plan.optimizer_options, *self.learner, 0, self.learner->parameters().size());
  const std::vector<std::span<float>> whole = optimizer->state();
  const KeptWork& work = self.work;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].empty()) continue;
    if (has_kept && i < work.moments.size() && work.moments_from + work.moments[i].size() <= whole[i].size())
      std::ranges::copy(work.moments[i], whole[i].begin() + static_cast<std::ptrdiff_t>(work.moments_from));
    all_reduce(peers, whole[i]);
  }
  return optimizer;
}

}  // namespace

void note_step(MemberState& self, const TrainingPlan& plan, std::size_t replica) {
  self.work.samples = plan.samples.count(replica, self.step);
  self.work.rate = plan.schedule.rate(self.step);
  self.work.scale = 0;
  self.work.moments.clear();
}

void complete_together(MemberState& self, Channel& peers, const TrainingPlan& plan, const PartialStep& step,
                       bool makes_it) {
  const bool served = plan.replicas() == Replicas::served;
  const bool mean = !served || !plan.strategy.sums_gradients(plan.strategy_options);
  std::uint64_t all = 0;
  for (const auto& each : step.kept) all += each ? each->samples : 0;
  std::vector<float> gradient(self.learner->parameters().size());
  const std::optional<PartialStep::Kept>& mine = step.kept[static_cast<std::size_t>(peers.me().value)];
  if (mine) {
    gradient = self.work.gradient;
    self.pruner.apply(gradient);
    // A server gets gradients that each replica has clipped; without servers the mean is clipped.
    double factor = !served           ? 1
                    : mine->scale > 0 ? mine->scale
                                      : clip_scale(plan.clip, squared_norm(gradient));
    if (mean) factor *= all == 0 ? 0 : static_cast<double>(mine->samples) / static_cast<double>(all);
    scale(gradient, static_cast<float>(factor));
  }
  all_reduce(peers, gradient);
  const auto server = served ? servers_optimizer(self, peers, plan, mine.has_value()) : nullptr;
  if (!makes_it) return;
  const double clipped = served || step.scale == 0 ? 1 : step.scale;
  make_step(served ? *server : *self.optimizer, self.learner->parameters(), gradient,
            {self.step, step.rate, clipped, plan.threads});
  self.work.forget();
}

}  // namespace veche
