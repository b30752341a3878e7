#pragma once

#include "veche/data/prefetcher.h"
#include "veche/runtime/training_node.h"

namespace veche {

// What the nodes of a process have in common while they train.
struct NodeSurroundings {
  const TrainingRequest& request;
  const RunPlan& plan;
  Prefetcher& prefetcher;
  Slots& slots;
  Checkpointer* checkpointer = nullptr;  // none: nothing is kept
  std::uint64_t checkpoint = 0;          // the one they go on from
};

// A node's part of a run, from its first batch to the last measure.
Evaluation run_node(Node& node, Observer* observer, const NodeSurroundings& around);

}  // namespace veche
