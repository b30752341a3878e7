#include "veche/train/loop/make_strategy.h"

#include "veche/errors.h"

namespace veche {

std::unique_ptr<Strategy> make_strategy(const TrainingPlan& plan, Connections& links, Learner& learner,
                                        ModelState& model, GradientClip& clip) {
  auto strategy = plan.strategy.make({links.strategy, learner, *model.optimizer, plan.schedule, plan.topology,
                                      plan.samples, plan.mix_every, plan.strategy_options,
                                      plan.optimizer_options, plan.seed, [&clip] { clip.apply(); },
                                      plan.compression ? &*plan.compression : nullptr});
  if (strategy == nullptr)
    throw RequestError("strategy.name = \"" + plan.strategy.name +
                       "\": the program that registered it made none");
  return strategy;
}

}  // namespace veche
