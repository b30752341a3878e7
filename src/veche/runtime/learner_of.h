#pragma once

#include "veche/runtime/run_plan.h"
#include "veche/runtime/training.h"

namespace veche {

// The caller's own learner, or the model that the settings name, with the weights it begins with.
std::unique_ptr<Learner> learner_of(const TrainingRequest& request, const RunPlan& plan, NodeId node);

}  // namespace veche
