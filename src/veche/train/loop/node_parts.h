#pragma once

#include "veche/train/loop/attached_strategy.h"
#include "veche/train/loop/connections.h"
#include "veche/train/loop/counters.h"
#include "veche/train/loop/model_state.h"
#include "veche/train/loop/node_services.h"
#include "veche/train/loop/plan.h"

namespace veche {

class Evaluator;
class CheckpointWriter;
class Membership;
class TrainingStep;

// What a node consists of while it trains. All of it outlives whatever holds a copy of this struct.
struct NodeParts {
  const TrainingPlan& plan;
  const NodeServices& services;
  Connections& links;
  ModelState& model;
  Counters& counters;
  const AttachedStrategy& strategy;
  Membership& membership;

  Observer* observer() const { return services.observer_of(links.id()); }
  const Dataset* test() const { return plan.data.test.get(); }
};

// A node, and the parts of it that a training loop calls.
struct LoopParts {
  NodeParts node;
  TrainingStep& step;
  Evaluator& evaluator;
  CheckpointWriter& checkpoints;
};

}  // namespace veche
