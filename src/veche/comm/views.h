#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "veche/comm/cluster.h"

namespace veche {

// How far a node has come when a view ends, and what everybody must know of its data: what the members of the
// next one agree on.
struct NodeStatus {
  std::uint64_t done_step = 0;   // steps whose exchange is complete here
  std::uint64_t state_hash = 0;  // of the model and all that belongs to it, after these steps; 0: it has none
  std::uint64_t samples = 0;     // that it trains on
  bool has_test = false;         // it has others to test with
  double epochs = -1;            // passes over the data after these steps; below 0: it does not know
  bool operator==(const NodeStatus&) const = default;
};

// Who takes part, until the next view: a cluster of fixed size, whose nodes are numbered by the seats of
// their members. When members are lost, leave or are let in, every wait of the nodes here throws ViewChanged.
struct View {
  std::uint64_t number = 0;
  std::uint64_t first_step = 0;    // the largest of those that its members had done
  std::vector<NodeStatus> status;  // by node
  int members = 0;                 // processes; each has one or several of the nodes
  std::shared_ptr<Cluster> cluster;

  int nodes() const { return static_cast<int>(status.size()); }
};

// A member that asks to be let in is told that the run has ended. No std::exception, as ViewChanged.
struct RunEnded {
  std::uint64_t step = 0;
};

// The view has ended: what was under way is repeated in the next one. No std::exception: nobody shall take it
// for a failure.
struct ViewChanged {};

// The views of a run, one after the other, as the member in this process sees them.
class Views {
 public:
  virtual ~Views() = default;

  // How the nodes here stand, after their part of the view before has ended; waits until the members have
  // agreed on the next view that this one is in; nothing: somebody wants this member to leave instead. Throws
  // RunError where it is in none any more: revoked, or cut off with a minority that shall not go on; also
  // where a newcomer has waited in vain for any member to answer. Throws RunEnded, see there.
  virtual std::optional<View> next(const std::vector<NodeStatus>& here) = 0;
  // Before the first `next`: the nodes here wait for nobody, so views are agreed on while they go on. Their
  // waits throw ViewChanged when the next view is there already, which `next` then returns at once; or when
  // this member is cut off, or out.
  virtual void never_stop() = 0;
  // The run has ended here, after so many steps: from now on a process that asks to be let in is told so.
  virtual void end(std::uint64_t step) = 0;
  // Takes no part any more: the others agree on a view without this member. Tells whether any go on.
  virtual bool leave() = 0;
};

}  // namespace veche
