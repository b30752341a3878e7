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

// What all nodes must know of a node's data to make the plan of a view.
struct DataMessage {
  std::uint64_t samples = 0;
  std::uint64_t has_test = 0;
};

// Makes the plan of a view from its nodes' data messages. All nodes make the same plan, except that
// each has only its own samples at hand.
using PlanOfView = std::function<std::unique_ptr<const TrainingPlan>(std::span<const DataMessage>)>;

// A node of this process through the views of a run: takes its state from one view to the next.
class ViewPart {
 public:
  ViewPart(MemberState self, DataMessage data, MessagePool pool)
      : self_(std::move(self)), data_(data), pool_(std::move(pool)) {}

  // For Cluster::run: trains in this view until the run or the view ends.
  void run(std::unique_ptr<Endpoint> endpoint, const View& view, const PlanOfView& plan,
           const NodeServices& services);
  // After `run` has returned on every node and helper of the process.
  void leave();

  MemberState& self() { return self_; }
  NodeStatus status();  // between views
  // The model is in stages: each view assigns a stage to the node, or lets it wait.
  void set_stages(std::unique_ptr<StagedPart> staged) { staged_ = std::move(staged); }
  StagedPart* staged() const { return staged_.get(); }
  bool ended() const { return last_.has_value(); }  // the run has ended, not only the view
  const std::optional<Evaluation>& last() const { return last_; }
  // Of the last view: a message for people about its beginning, and its plan.
  const std::string& told() const { return notice_; }
  const TrainingPlan* plan() const { return plan_.get(); }
  // Called by the node's thread first in every view, before it tells anything; may throw
  // ViewChanged.
  std::function<void(Endpoint& endpoint, const View& view)> on_enter;
  // Called by the speaker of the process before its first step in a view.
  std::function<void(const TrainingPlan& plan, const std::string& told)> on_begin;
  // Before that, if the model is in stages: a message for people about the stages.
  std::function<void(const std::string& sentence)> on_roles;

 private:
  void begin(Endpoint& endpoint, const View& view, const PlanOfView& plan);
  void run_staged(std::unique_ptr<Endpoint> endpoint, const View& view, const PlanOfView& plan,
                  const NodeServices& services);

  MemberState self_;
  const DataMessage data_;
  const MessagePool pool_;
  std::unique_ptr<StagedPart> staged_;  // may be null
  std::unique_ptr<Endpoint> all_;       // of the whole view, of which only some nodes train
  std::unique_ptr<const TrainingPlan> plan_;
  std::unique_ptr<MemberNode> node_;  // of the present view; holds self_ then
  std::optional<Evaluation> last_;
  std::string notice_;
};

}  // namespace veche
