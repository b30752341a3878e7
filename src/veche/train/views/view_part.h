#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "veche/comm/views.h"
#include "veche/train/views/member_node.h"
#include "veche/train/views/staged_part.h"
#include "veche/train/views/view_start.h"

namespace veche {

// What everybody must know of a node's data to make the plan of a view.
struct DataWord {
  std::uint64_t samples = 0;
  std::uint64_t has_test = 0;
};

// Makes the plan of a view from its nodes' words; the same on all nodes but for whose samples are at hand.
using PlanOfView = std::function<std::unique_ptr<const TrainingPlan>(std::span<const DataWord>)>;

// A node of this process through the views of a run: what is its own goes from one view to the next.
class ViewPart {
 public:
  ViewPart(NodeSelf self, DataWord data, MessagePool pool)
      : self_(std::move(self)), data_(data), pool_(std::move(pool)) {}

  // For Cluster::run: the node's part of this view, until the run or the view has ended.
  void run(std::unique_ptr<Endpoint> endpoint, const View& view, const PlanOfView& plan,
           const NodeServices& services);
  // After it has returned, on every node and helper of the process.
  void leave();

  NodeSelf& self() { return self_; }
  NodeStatus status();  // between views
  // The model is in stages: which one the node has follows from each view, and it may have to wait.
  void set_stages(std::unique_ptr<StagedPart> staged) { staged_ = std::move(staged); }
  StagedPart* staged() const { return staged_.get(); }
  bool ended() const { return last_.has_value(); }  // the run, not only the view
  const std::optional<Evaluation>& last() const { return last_; }
  // Of the last view: what people should know of its beginning, and how it was planned.
  const std::string& told() const { return told_; }
  const TrainingPlan* plan() const { return plan_.get(); }
  // Called by the speaker of the process before its first step in a view.
  std::function<void(const TrainingPlan& plan, const std::string& told)> on_begin;
  // Where the model is in stages, before that: what people should know of who has which.
  std::function<void(const std::string& sentence)> on_roles;

 private:
  void begin(Endpoint& endpoint, const View& view, const PlanOfView& plan);
  void run_staged(std::unique_ptr<Endpoint> endpoint, const View& view, const PlanOfView& plan,
                  const NodeServices& services);

  NodeSelf self_;
  const DataWord data_;
  const MessagePool pool_;
  std::unique_ptr<StagedPart> staged_;  // may be null
  std::unique_ptr<Endpoint> all_;       // of whom only some train
  std::unique_ptr<const TrainingPlan> plan_;
  std::unique_ptr<MemberNode> node_;  // of the present view; holds self_ then
  std::optional<Evaluation> last_;
  std::string told_;
};

}  // namespace veche
