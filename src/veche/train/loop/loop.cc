#include "veche/train/loop/loop.h"

#include "veche/train/loop/checkpoint_writer.h"
#include "veche/train/loop/end_of_samples.h"
#include "veche/train/loop/evaluator.h"
#include "veche/train/loop/membership.h"
#include "veche/train/loop/progress_exchange.h"
#include "veche/train/loop/step.h"

namespace veche {

Evaluation run_in_step(const LoopParts& loop) {
  const TrainingPlan& plan = loop.node.plan;
  Membership& membership = loop.node.membership;
  const std::uint64_t& step = loop.node.counters.step;
  const auto due = [&](std::uint64_t every) { return every != 0 && step % every == 0; };
  std::optional<EndOfSamples> samples;
  if (loop.step.is_driven())
    samples.emplace(loop.node.links.peers(), loop.node.links.pool, loop.node.links.timeout);
  const auto samples_ended = [&] {
    if (!samples) return false;
    const bool trains = plan.samples.has_data(loop.node.links.replica());
    const bool mine = trains && loop.step.await_gradient();
    samples->begin(step, mine);
    return !mine && samples->all_ended(step);
  };
  ProgressExchange progress(loop);
  Evaluation last;
  StopReason stopped =
      step >= plan.steps ? StopReason::steps : membership.before_first_step(loop.evaluator, loop.checkpoints);
  while (stopped == StopReason::none) {
    if (samples_ended()) {
      stopped = StopReason::samples;
      break;
    }
    loop.step.run();
    if (step >= plan.steps) {
      stopped = StopReason::steps;
      break;
    }
    if (progress.after_step()) stopped = StopReason::interrupted;
    if (membership.leaves_run()) return interrupted_at(step);
    if (due(plan.evaluate_every)) {
      last = loop.evaluator.evaluate(StopReason::none);
      if (stopped == StopReason::none && loop.evaluator.reaches_target(last.average_model))
        stopped = loop.evaluator.target_reason();
      membership.note_target(is_target(stopped));
    }
    if (due(plan.checkpoint_every) || stopped == StopReason::interrupted) loop.checkpoints.save(step);
  }
  progress.settle();
  if (stopped == StopReason::interrupted) return interrupted_at(step);
  loop.step.finish();
  loop.node.model.pruner.apply(loop.node.model.learner->parameters());
  last = loop.evaluator.evaluate(stopped);
  loop.checkpoints.save(step);
  return last;
}

}  // namespace veche
