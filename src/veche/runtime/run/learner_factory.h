#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "veche/comm/cluster.h"
#include "veche/learner.h"
#include "veche/model/zoo.h"
#include "veche/runtime/plan/run_plan.h"

namespace veche {

// Makes one node's learner; given by a program that trains a learner of its own.
using MakeLearner = std::function<std::unique_ptr<Learner>(NodeId)>;

// Makes the learners of a run: the caller's own, or the model that the settings name, with its
// initial weights. The plan outlives the factory.
class LearnerFactory {
 public:
  struct Source {
    MakeLearner own = {};               // none: the model that the settings name
    std::filesystem::path resume = {};  // the run folder to resume from; empty: the run begins anew
    const Job* job = nullptr;           // whose ranks share this host's cores
  };
  LearnerFactory(const RunPlan& plan, Source from) : plan_(plan), from_(std::move(from)) {}

  // `like`: another learner of this run that has not been trained yet, to copy; may be null.
  std::unique_ptr<Learner> make(NodeId node, Learner* like = nullptr);
  // The whole model, also where each node has one stage.
  std::unique_ptr<Learner> make_whole(NodeId node, Learner* like = nullptr);

 private:
  std::unique_ptr<Learner> make_stage(NodeId node, const PipelinePlan& pipeline);
  std::unique_ptr<Learner> in_passes(std::unique_ptr<Learner> learner) const;
  bool has_checkpoint();
  int evaluation_threads() const;

  const RunPlan& plan_;
  const Source from_;
  Learners learners_;
  std::optional<bool> has_checkpoint_;  // empty: not looked up yet
};

}  // namespace veche
