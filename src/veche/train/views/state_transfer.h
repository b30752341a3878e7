#pragma once

#include <vector>

#include "veche/channel.h"
#include "veche/train/views/state_fetch.h"

namespace veche {

// The state of nodes in a view, from those that have it to those that lack it, on the channel's
// children.

// The step and the hash of the state that equal models must reach; no hash: models are not equal.
struct Goal {
  std::uint64_t step = 0, hash = 0;
};

// Makes this node's state that of the donors, which all have the same: by replaying their last
// steps if that is possible, else by fetching the pieces that differ. Throws PeerLost when too few
// donors are left; the node then has what it had, and the pieces that came are kept and not fetched
// again.
Fetched fetch_state(MemberState& self, Channel& channel, const std::vector<NodeId>& donors, const Goal& goal);

// Answers requests until all takers have what they need.
void serve_state(MemberState& self, Channel& channel, const std::vector<NodeId>& takers);

}  // namespace veche
