#pragma once

#include "veche/model/zoo.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/runtime/run/training.h"

namespace veche {

// Makes the learners of a run: the caller's own, or the model that the settings name, with the weights it
// begins with. Request and plan outlive it.
class LearnersOfRun {
 public:
  LearnersOfRun(const TrainingRequest& request, const RunPlan& plan) : request_(request), plan_(plan) {}

  // `like`: another one of this run that still is as it was made; may be null.
  std::unique_ptr<Learner> make(NodeId node, Learner* like = nullptr);
  // Of the whole model, also where nodes have parts of it.
  std::unique_ptr<Learner> make_whole(NodeId node, Learner* like = nullptr);

 private:
  std::unique_ptr<Learner> make_stage(NodeId node, const PipelinePlan& pipeline);
  bool has_checkpoint();
  int evaluation_threads() const;

  const TrainingRequest& request_;
  const RunPlan& plan_;
  Learners learners_;
  std::optional<bool> has_checkpoint_;  // once it was asked
};

}  // namespace veche
