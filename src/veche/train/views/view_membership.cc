#include "veche/train/views/view_membership.h"

#include "veche/train/loop/checkpoint_writer.h"
#include "veche/train/loop/evaluator.h"

namespace veche {

StopReason ViewMembership::before_first_step(Evaluator& evaluator, CheckpointWriter& checkpoints) {
  if (recovery_.evaluates_first &&
      evaluator.reaches_target(evaluator.evaluate(StopReason::none).average_model))
    recovery_.reached_target = true;
  if (recovery_.saves_first) checkpoints.save_now();
  return recovery_.reached_target ? evaluator.target_reason() : StopReason::none;
}

bool ViewMembership::is_new_evaluation(std::uint64_t step, StopReason stopped) {
  const bool again =
      recovery_.last_evaluation == step && (stopped == StopReason::none || recovery_.measured_end);
  recovery_.last_evaluation = step;
  recovery_.measured_end = stopped != StopReason::none;
  return !again;
}

}  // namespace veche
