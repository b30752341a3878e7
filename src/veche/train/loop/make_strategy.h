#pragma once

#include "veche/train/loop/attached_strategy.h"
#include "veche/train/loop/connections.h"
#include "veche/train/loop/gradient_clip.h"

namespace veche {

// The strategy of a node. `learner` is the model's, or one that forwards to it. All arguments
// outlive the strategy. Throws RequestError for options that do not go together.
AttachedStrategy make_strategy(const TrainingPlan& plan, Connections& links, Learner& learner,
                               ModelState& model, GradientClip& clip);

}  // namespace veche
