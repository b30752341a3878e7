#pragma once

#include "veche/train/loop/batch_feed.h"
#include "veche/train/loop/node_parts.h"
#include "veche/train/loop/progress_report.h"
#include "veche/train/measure/measure.h"

namespace veche {

// Measures a node: its own reports, and evaluations together with all nodes. Belongs to the node's
// thread.
class Evaluator {
 public:
  Evaluator(const NodeParts& node, const BatchFeed& feed) : node_(node), feed_(feed) {}

  // The progress since the last call.
  ProgressReport take_progress();
  // What the node knows without the others; starts a new interval of the training score.
  NodeReport take_report();

  // Collective. Only the speaker of each process gets the reports of all nodes: a copy for each of
  // ten thousand nodes would not fit into memory. Where the models do not learn, only times are
  // measured.
  Evaluation evaluate(StopReason stopped);
  // Collective: whether an evaluation after this step, if one was due, showed that the averaged
  // model has reached the run's target.
  bool had_reached_target();
  bool reaches_target(const TestResult& average_model) const;
  StopReason target_reason() const {
    return node_.plan.target ? node_.plan.target->reason : StopReason::target;
  }

 private:
  Evaluation measure_times(StopReason stopped);
  Evaluation begun(StopReason stopped) const;
  Message mean_model();
  std::string sample_of(std::span<const float> mean);
  TestResult result_of_mean(std::span<const float> mean, const Tested& tested = {});
  bool tests_own_model(StopReason stopped) const;
  Tested testing_observer(StopReason stopped) const;
  Traffic strategy_sent() const;
  Learner& learner() const { return *node_.model.learner; }

  NodeParts node_;
  const BatchFeed& feed_;
};

// What an interrupted run returns. It is not measured.
Evaluation interrupted_at(std::uint64_t step);

}  // namespace veche
