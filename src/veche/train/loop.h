#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "veche/base/errors.h"
#include "veche/data/loader.h"
#include "veche/train/checkpointer.h"
#include "veche/train/measure.h"
#include "veche/train/observer.h"
#include "veche/train/optimizer.h"
#include "veche/train/pruning.h"
#include "veche/train/sample_exchange.h"
#include "veche/train/schedule.h"
#include "veche/train/slots.h"
#include "veche/train/strategy.h"

namespace veche {

// The same on every node.
struct LoopPlan {
  std::uint64_t steps = 0;                // in all
  std::uint64_t evaluate_every = 0;       // steps; 0: only at the end
  std::uint64_t checkpoint_every = 0;     // steps; 0: only at the end
  std::optional<double> target_accuracy;  // of the averaged model
  std::uint64_t seed = 1;
  enum class Who {
    average,
    all,
    sample
  } evaluate_own = Who::average;  // whose own models are tested on the way
  int sample_size = 0;
  double clip = 0;                    // largest norm of the gradient; 0: any
  bool step_without_samples = false;  // StrategyInfo::shares_gradients
  bool strategy_steps = false;        // StrategyInfo::makes_the_step
  bool own_data = false;              // the learners bring it
  SamplePlan samples;                 // who trains when
  bool own_pace = false;              // StrategyInfo::own_pace
  bool shared_steps = false;          // `steps` are a mean over nodes: quick ones make more
  std::vector<double> slowness;       // by node: it rests until its pass has taken so many times as long
  double stall_probability = 0;       // of a pause after a pass
  double stall_seconds = 0;           // the longest
  PruningPlan pruning;

  // Whether a node's own model is tested on the way; the same draw on every node.
  bool tests_model_of(std::size_t node, std::size_t nodes, std::uint64_t step) const;
};

// One node's parts. All outlive the loop.
struct NodeParts {
  Channel& strategy_channel;
  Channel& control_channel;
  Channel& glance_channel;
  Learner& learner;
  Loader* loader = nullptr;            // none: the learner brings its own data
  SampleExchange* exchange = nullptr;  // none: every node keeps its samples
  const Dataset* test = nullptr;
  Optimizer& optimizer;
  Pruner& pruner;
  Strategy& strategy;
  const Schedule& schedule;
  Slots& slots;
  const std::atomic<bool>& interrupted;  // somebody wants the run to end
  Observer* observer = nullptr;          // node 0 only
  Checkpointer* checkpointer = nullptr;
  std::function<std::unique_ptr<Learner>()> spare_learner = {};  // node 0 only
  std::uint64_t checkpoint = 0;                                  // the number of the one the run goes on from
  NodeState resumed = {};  // where to go on; its vectors are already in place
};

// Thrown when a loss is no longer a number.
class Diverged : public RunError {
 public:
  using RunError::RunError;
};

// The one training loop. Every strategy, engine and model goes through it.
// Returns the last evaluation, the same on every node but for what only a node itself knows.
Evaluation train_node(NodeParts parts, const LoopPlan& plan);

// All that must be saved of a node.
std::vector<std::span<float>> state_vectors(Learner& learner, Optimizer& optimizer, Pruner& pruner,
                                            Strategy& strategy);

}  // namespace veche
