#pragma once

#include <memory>
#include <optional>

#include "veche/report.h"
#include "veche/train/loop/attached_strategy.h"
#include "veche/train/loop/checkpointer.h"
#include "veche/train/loop/connections.h"
#include "veche/train/loop/counters.h"
#include "veche/train/loop/diverged.h"
#include "veche/train/loop/gradient_clip.h"
#include "veche/train/loop/model_state.h"
#include "veche/train/loop/node_services.h"

namespace veche {

// A node of a run whose nodes stay the same: puts together what it consists of, restores it from a
// checkpoint and runs it. MemberNode (train/views) is for members that come and go. Belongs to the
// node's thread.
class Node {
 public:
  // Throws RequestError for options that do not go together. The plan outlives it.
  Node(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Learner> learner, const TrainingPlan& plan,
       MessagePool pool)
      : Node(std::move(endpoint), ModelState(std::move(learner), plan), Counters{}, plan, std::move(pool)) {}
  Node(std::unique_ptr<Endpoint> endpoint, ModelState model, const Counters& counters,
       const TrainingPlan& plan, MessagePool pool);

  // Everything that a checkpoint holds, in place; without the strategy's state if other nodes saved
  // it.
  NodeState state(bool with_strategys = true);
  // The same in the layout of an earlier version's checkpoints; nothing if the layout has not
  // changed. After reading a checkpoint into it, call `take_older_state`.
  std::optional<NodeState> older_state();
  void take_older_state();
  // Goes on from a checkpoint that was read into `state`.
  void resume(const NodeState& state, std::uint64_t checkpoint);

  // Trains until the run ends. Returns the last evaluation.
  Evaluation run(const NodeServices& services);

  Endpoint& endpoint() const { return links_.endpoint(); }
  Learner& learner() const { return *model_.learner; }
  ModelState& model() { return model_; }
  const Counters& counters() const { return counters_; }
  std::size_t me() const { return links_.me(); }
  const Trace& trace() const { return links_.trace(); }

 private:
  const TrainingPlan& plan_;
  ModelState model_;
  Counters counters_;
  Connections links_;
  GradientClip clip_;
  const AttachedStrategy strategy_;
};

}  // namespace veche
