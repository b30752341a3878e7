#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "veche/comm/views.h"
#include "veche/runtime/run/member_plan.h"
#include "veche/train/views/view_part.h"

namespace veche {

// The nodes of this process, which is a member of a grid, through the views of the run. The plan
// outlives it.
class MemberNodes {
 public:
  // Makes the learners. Throws RequestError.
  explicit MemberNodes(const MemberPlan& plan);

  const std::vector<std::unique_ptr<ViewPart>>& all() const { return parts_; }
  ViewPart& first() const { return *parts_.front(); }
  MemberState& first_self() const { return first().self(); }
  StagedPart* stages() const { return first().staged(); }  // null: each node has the whole model

  // Between views: how far each node has come; `epochs_at` counts the epochs at a step.
  std::vector<NodeStatus> status(const std::function<double(std::uint64_t step)>& epochs_at) const;
  bool ended() const;  // the whole run, on all nodes here
  // The nodes have no state of the run: they take that of other members.
  void discard_state();
  // All nodes get the state of the first one.
  void copy_first_state() const;

  // Trains in this view until the view or the run has ended. Throws what Cluster::run throws.
  void run(const View& view, const PlanOfView& plan, const NodeServices& services) const;
  // After `run` has returned or thrown.
  void leave_view() const;

 private:
  std::vector<std::unique_ptr<ViewPart>> parts_;
};

}  // namespace veche
