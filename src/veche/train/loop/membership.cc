#include "veche/train/loop/membership.h"

#include "veche/train/loop/evaluator.h"

namespace veche {

// A run that was killed after it had reached its target and before it ended stops at once.
StopReason Membership::before_first_step(Evaluator& evaluator, CheckpointWriter& /*checkpoints*/) {
  return evaluator.had_reached_target() ? evaluator.target_reason() : StopReason::none;
}

}  // namespace veche
