#pragma once

#include <memory>

#include "veche/learner.h"
#include "veche/train/loop/plan.h"
#include "veche/train/optim/optimizer.h"
#include "veche/train/optim/pruning.h"

namespace veche {

// What a node trains: the model, the optimizer's state and the pruning mask.
struct ModelState {
  ModelState(std::unique_ptr<Learner> made, const TrainingPlan& plan)
      : learner(std::move(made)),
        optimizer(make_optimizer(plan.optimizer_options, *learner, 0, learner->parameters().size())),
        pruner(plan.pruning, *learner, learner->parameters().size()) {}

  std::unique_ptr<Learner> learner;
  std::unique_ptr<Optimizer> optimizer;
  Pruner pruner;
};

}  // namespace veche
