#include "veche/train/loop/make_strategy.h"

#include "veche/errors.h"

namespace veche {

AttachedStrategy make_strategy(const TrainingPlan& plan, Connections& links, Learner& learner,
                               ModelState& model, GradientClip& clip) {
  std::unique_ptr<Strategy> strategy =
      plan.strategy.make({.channel = links.strategy,
                          .learner = learner,
                          .optimizer = *model.optimizer,
                          .learning_rate = [&plan](std::uint64_t step) { return plan.schedule.rate(step); },
                          .make_optimizer =
                              [&plan, &learner](std::size_t from, std::size_t length) {
                                return make_optimizer(plan.optimizer_options, learner, from, length,
                                                      plan.strategy.keeps_layers_whole);
                              },
                          .topology = plan.topology,
                          .samples = plan.samples,
                          .mix_every = plan.mix_every,
                          .options = plan.strategy_options,
                          .seed = plan.seed,
                          .limit_gradient = [&clip] { clip.apply(); },
                          .compression = plan.compression ? &*plan.compression : nullptr});
  if (strategy == nullptr)
    throw RequestError("strategy.name = \"" + plan.strategy.name +
                       "\": the program that registered it made none");
  return AttachedStrategy(std::move(strategy));
}

}  // namespace veche
