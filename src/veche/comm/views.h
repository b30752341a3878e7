#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "veche/comm/cluster.h"

namespace veche {

// The progress of a node when a view ends, and facts about its data. The members of the next view
// agree on the status of all its nodes.
struct NodeStatus {
  std::uint64_t done_step = 0;   // steps whose exchange is complete
  std::uint64_t state_hash = 0;  // of the model and its whole state after these steps; 0: it has no state
  std::uint64_t samples = 0;     // in its training data
  bool has_test = false;         // it has test data
  double epochs = -1;            // passes over the data after these steps; negative: unknown
  bool operator==(const NodeStatus&) const = default;
};

// The members of a run until the next change: a cluster of fixed size, whose nodes are numbered in
// the order of their members' seats. When a member is lost, leaves or joins, all waits of the nodes
// throw ViewChanged.
struct View {
  std::uint64_t number = 0;
  std::uint64_t first_step = 0;    // the largest done_step of its nodes
  std::vector<NodeStatus> status;  // by node
  int members = 0;                 // processes, each with one or more nodes
  std::shared_ptr<Cluster> cluster;

  int nodes() const { return static_cast<int>(status.size()); }
};

// Thrown in a member that asks to join a run that has ended. Not a std::exception, like
// ViewChanged.
struct RunEnded {
  std::uint64_t step = 0;
};

// The views of a run, one after the other, as the member of this process sees them.
class Views {
 public:
  virtual ~Views() = default;

  // Reports the status of the nodes of this process, after they have left the last view, and waits
  // until the members agree on the next view with this member. Returns nothing when this member is
  // asked to leave. Throws RunError when it is excluded: revoked, or cut off with a minority that
  // may not go on; also when no member answers a newcomer. Throws RunEnded.
  virtual std::optional<View> next(const std::vector<NodeStatus>& here) = 0;
  // Called before the first `next`, for nodes that train at their own pace: members agree on views
  // while the nodes go on. Waits throw ViewChanged only when the next view is ready, so that `next`
  // returns it at once, or when this member is cut off or excluded.
  virtual void never_stop() = 0;
  // The run has ended here after `step` steps: a process that asks to join is told so from now on.
  virtual void end(std::uint64_t step) = 0;
  // Leaves the run: the others agree on a view without this member. Returns whether any member goes
  // on.
  virtual bool leave() = 0;
};

}  // namespace veche
