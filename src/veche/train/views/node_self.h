#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "veche/endpoint.h"
#include "veche/train/loop/checkpointer.h"
#include "veche/train/loop/plan.h"
#include "veche/train/optim/optimizer.h"
#include "veche/train/optim/pruning.h"
#include "veche/train/views/kept_work.h"

namespace veche {

class StateLending;

// All that is a node's own, whoever the others are: it outlives the view in which it trains.
struct NodeSelf {
  NodeSelf(std::unique_ptr<Learner> made, const TrainingPlan& plan)
      : learner(std::move(made)),
        optimizer(make_optimizer(plan.optimizer_options, layers_of(*learner))),
        pruner(plan.pruning, *learner, learner->parameters().size()) {}

  std::unique_ptr<Learner> learner;
  std::unique_ptr<Optimizer> optimizer;
  Pruner pruner;

  std::uint64_t step = 0;  // steps done
  Score train;             // since the last evaluation
  Score evaluated_train;   // what train was then
  Score since_progress;
  std::int64_t images = 0;  // trained on by this process
  std::uint64_t lost = 0;   // steps whose results were lost (cluster.lose)
  Traffic activations;      // and gradients of them, sent by its stage; up to date when it is saved
  Time compute{0}, waiting{0}, communication{0}, training{0};
  std::uint64_t last_checkpoint = 0;    // a resumed run need not save what it has just read
  std::uint64_t newest_checkpoint = 0;  // numbers only grow
  std::uint64_t mean_step = 0;

  // Where views change.
  bool has_state = true;  // else what it has is nothing that was trained
  bool is_new = false;    // it was in no view yet
  KeptWork work;
  double made_scale = 0;  // by which all stages clipped the gradient of the last step made; 0: not known
  std::vector<std::vector<float>> common;  // the strategy's state that is the same on all nodes
  std::vector<float> unpushed;             // gradients that no server has been sent, added up
  std::shared_ptr<StateLending> lending;   // to newcomers; may be null
  std::map<std::uint64_t, std::vector<std::byte>> fetched;  // pieces of a state that is not whole, by hash
  Traffic sent;                                             // by strategies of views before
  std::uint64_t last_evaluation = 0;                        // step
  bool measured_end = false;                                // the last one was that of the run's end
  bool reached_target = false;                              // the run is to end
  bool evaluates_first = false;  // agreed by all: what was due in the view before was cut off ..
  bool saves_first = false;      // .. so was this
};

// All that must be saved of it, in place; no strategy's state, which is about the others of a view.
NodeState state_of(NodeSelf& self);

// The gradient that was kept, where the learner has its own, as the optimiser would see it but for clipping.
std::span<float> take_kept_gradient(NodeSelf& self);

// The optimiser's step of this node's own gradient, by nobody else's: for a step whose exchange the others
// have completed without it. Its rate, and what it was clipped by where that is known, are those of the view
// in which it began.
void finish_alone(NodeSelf& self, const TrainingPlan& plan);

}  // namespace veche
