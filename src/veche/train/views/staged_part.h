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
#include "veche/train/views/node_self.h"
#include "veche/train/views/roles.h"

namespace veche {

// Makes what a node is that has this stage, with the values that the run begins with.
using StageMaker = std::function<NodeSelf(int stage)>;

// What a node of a model in stages needs besides to go through views: which stage it has, and who had which.
// Belongs to the node's thread.
class StagedPart {
 public:
  // The node has been made with stage 0.
  StagedPart(int stages, StageMaker make) : stages_(stages), make_(std::move(make)) {}

  // How others know this node: a number of its own, and a name for people.
  void call(std::uint64_t member, std::string name);
  int stage() const { return stage_; }
  // The node becomes what it was when it had this stage, as it was made.
  void hold(NodeSelf& self, int stage);

  // Collective over all nodes of the view, on a conversation of its own: who does what until the next one.
  const Roles& take_role(NodeSelf& self, Channel& channel, std::uint64_t view);
  // Of the last roles: what people should know, and this node's place among those who train; -1: it waits.
  const std::string& told() const { return told_; }
  int place() const { return place_; }
  const Roles& roles() const { return roles_; }

  // Collective over those who train, whose endpoint the channel has: as start_view, for the nodes of each
  // stage. A step that some stages have made and others have not is completed by these, from the gradients
  // that were kept. Otherwise what was kept is used only where all stages of a replica have theirs.
  std::string start(NodeSelf& self, Channel& channel, std::uint64_t view, const TrainingPlan& plan);

  // Who waits: until those who train tell that the run has ended, which is returned; nothing: somebody wants
  // this node to end. Throws ViewChanged.
  std::optional<Evaluation> wait(NodeSelf& self, Endpoint& all, const TrainingPlan* last_plan,
                                 const std::atomic<bool>& interrupted) const;
  // Who has trained: tells those who wait, and returns when all who trained have come so far.
  void end(Endpoint& all, Channel& channel, const Evaluation& last) const;

 private:
  enum class Work { keep, finish, forget };
  Work work_of(int place, bool equal) const;
  std::uint64_t unit_of(int place, std::uint64_t view) const;
  // By what everybody clipped the mean gradient of the step after so many, where models are equal, and by
  // what the replica of `place` clips its own. 0: nobody knows.
  double scale_of_mean(std::uint64_t step) const;
  double scale_of_replica(std::uint64_t step, int place, double clip) const;
  std::string complete_step(NodeSelf& self, Channel& peers, const TrainingPlan& plan);
  const HeldStage& at(int place) const {
    return held_[static_cast<std::size_t>(roles_.nodes[static_cast<std::size_t>(place)].value)];
  }
  // Whether it has the state of the stage that it is given.
  bool has_its_stage(int place) const { return at(place).stage == place % stages_; }

  const int stages_;
  const StageMaker make_;
  std::uint64_t member_ = 0;
  std::string name_;
  int stage_ = 0;
  std::uint64_t unit_ = 0;       // its replica, for as long as that is whole; 0: it is in none
  std::vector<HeldStage> held_;  // by node of the view
  std::vector<HadRole> before_;
  Roles roles_;
  int place_ = -1;
  std::string told_;
};

// Where a node that trains puts itself away: with the other stages of its replica, so that every member's
// checkpoints are of the whole model. Node numbers are stages. Called by all nodes of a replica alike.
class WholeModelCheckpoints : public Checkpointer {
 public:
  // `inner` outlives it; the endpoint is that of those who train.
  WholeModelCheckpoints(Checkpointer& inner, Endpoint& training, int stages);
  ~WholeModelCheckpoints() override;
  void write(std::uint64_t number, NodeId node, const NodeState& state) override;
  void commit(std::uint64_t number) override { inner_.commit(number); }

 private:
  Checkpointer& inner_;
  const std::unique_ptr<Endpoint> replica_;
  MessagePool pool_;
  AdaptiveTimeout timeout_;
  Channel parts_;
};

}  // namespace veche
