#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/channel.h"
#include "veche/comm/views.h"
#include "veche/report.h"
#include "veche/train/views/member_state.h"
#include "veche/train/views/roles.h"

namespace veche {

// Makes a node with this stage and the initial values of the run.
using StageMaker = std::function<MemberState(int stage)>;

// The stage of a member through the views of a run, if the model is in stages. Belongs to the
// node's thread.
class StagedPart {
 public:
  // The node was made with stage 0.
  StagedPart(int stages, StageMaker make) : stages_(stages), make_(std::move(make)) {}

  // Sets the number and the name by which other members know this node.
  void call(std::uint64_t member, std::string name);
  int stage() const { return stage_; }
  // Makes the node anew, with this stage and initial values.
  void hold(MemberState& self, int stage);

  // Collective over all nodes of the view, on a channel of its own: assigns the roles until the
  // next view.
  const Roles& take_role(MemberState& self, Channel& channel, std::uint64_t view);
  // Of the last roles: a message for people, and this node's place among the nodes that train; -1:
  // it waits.
  const std::string& told() const { return notice_; }
  int place() const { return place_; }
  const Roles& roles() const { return roles_; }

  // Collective over the nodes that train, on their endpoint: start_view for the nodes of each
  // stage. If some stages have made a step and others have not, these complete it from their kept
  // gradients. Otherwise kept gradients are used only if all stages of a replica have theirs.
  std::string start(MemberState& self, Channel& channel, std::uint64_t view, const TrainingPlan& plan);

  // For a node that waits: returns the end of the run when the nodes that train tell it, or nothing
  // if the user interrupts this process. Throws ViewChanged.
  std::optional<Evaluation> wait(MemberState& self, Endpoint& all, const TrainingPlan* last_plan,
                                 const std::atomic<bool>& interrupted) const;
  // For nodes that trained: tells the nodes that wait. Returns when all nodes that trained have
  // called it.
  void end(Endpoint& all, Channel& channel, const Evaluation& last) const;

 private:
  enum class Work { keep, finish, forget };
  Work work_of(int place, bool equal) const;
  std::uint64_t unit_of(int place, std::uint64_t view) const;
  // The clipping factor of the mean gradient of the step after `step`, for equal models, and that
  // of the replica of `place`. 0: no node knows it.
  double scale_of_mean(std::uint64_t step) const;
  double scale_of_replica(std::uint64_t step, int place, double clip) const;
  std::string complete_step(MemberState& self, Channel& peers, const TrainingPlan& plan);
  const HeldStage& at(int place) const {
    return held_[static_cast<std::size_t>(roles_.nodes[static_cast<std::size_t>(place)].value)];
  }
  // Whether the node has the state of the stage that it is given.
  bool has_its_stage(int place) const { return at(place).stage == place % stages_; }

  const int stages_;
  const StageMaker make_;
  std::uint64_t member_ = 0;
  std::string name_;
  int stage_ = 0;
  std::uint64_t unit_ = 0;       // identifies its replica while that is whole; 0: none
  std::vector<HeldStage> held_;  // by node of the view
  std::vector<PreviousRole> before_;
  Roles roles_;
  int place_ = -1;
  std::string notice_;
};

// Saves a node together with the other stages of its replica, so that every member's checkpoints
// hold the whole model. Node numbers are stages. All nodes of a replica call it alike.
class WholeModelCheckpoints : public Checkpointer {
 public:
  // `inner`, the endpoint of the nodes that train and the cut of the model outlive it.
  WholeModelCheckpoints(Checkpointer& inner, Endpoint& training, const PipelinePlan& cut);
  ~WholeModelCheckpoints() override;
  void write(std::uint64_t number, NodeId node, const NodeState& state) override;
  void commit(std::uint64_t number) override { inner_.commit(number); }

 private:
  Checkpointer& inner_;
  const PipelinePlan& cut_;
  const std::unique_ptr<Endpoint> replica_;
  MessagePool pool_;
  AdaptiveTimeout timeout_;
  Channel parts_;
};

}  // namespace veche
