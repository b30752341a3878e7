#pragma once

#include <memory>
#include <optional>

#include "veche/report.h"
#include "veche/train/loop/attached_strategy.h"
#include "veche/train/loop/connections.h"
#include "veche/train/loop/gradient_clip.h"
#include "veche/train/loop/node_services.h"
#include "veche/train/views/member_state.h"

namespace veche {

// A node of one view of the grid; Node is its counterpart for a fixed set of nodes. It takes the
// member's state from the previous view and returns it for the next. Belongs to the node's thread.
class MemberNode {
 public:
  // Throws RequestError for options that do not go together. The plan outlives it.
  MemberNode(std::unique_ptr<Endpoint> endpoint, MemberState self, const TrainingPlan& plan,
             MessagePool pool);

  // Trains until the run ends, and returns the last evaluation. Throws ViewChanged or PeerLost at
  // any wait if the view ends before; call `leave_view` then.
  Evaluation run(const NodeServices& services);
  // Returns what goes on to the next view. The node cannot be used any more.
  MemberState leave_view();

  Endpoint& endpoint() const { return links_.endpoint(); }
  MemberState& self() { return self_; }

 private:
  const TrainingPlan& plan_;
  MemberState self_;
  Connections links_;
  GradientClip clip_;
  std::optional<GradientKeeper> keeper_;      // of nodes in step
  std::optional<AttachedStrategy> strategy_;  // none after leave_view
};

}  // namespace veche
