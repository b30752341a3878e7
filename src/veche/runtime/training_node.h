#pragma once

#include "veche/runtime/checkpoint.h"
#include "veche/runtime/run_plan.h"
#include "veche/runtime/training.h"

namespace veche {

std::unique_ptr<Learner> learner_of(const TrainingRequest& request, const RunPlan& plan, NodeId node);

// A node with everything that is its own. The endpoint goes with it: a node that ends is lost to the others,
// who then do not wait for it.
struct Node {
  Node(const TrainingRequest& request, const RunPlan& plan, std::unique_ptr<Endpoint> given);

  std::unique_ptr<Endpoint> endpoint;
  MessagePool pool;
  Patience patience;
  Channel strategy_channel{*endpoint, pool, patience, Tag{1}};
  Channel control_channel{*endpoint, pool, patience, Tag{2}};
  Channel glance_channel{*endpoint, pool, patience, Tag{4}};
  Channel sample_channel{*endpoint, pool, patience, Tag{3}};
  std::unique_ptr<Learner> learner;
  std::unique_ptr<Optimizer> optimizer;
  Pruner pruner;
  std::unique_ptr<Strategy> strategy;
  NodeState resumed;

  std::size_t index() const { return static_cast<std::size_t>(endpoint->id().value); }
};

}  // namespace veche
