#pragma once

#include <vector>

#include "veche/channel.h"
#include "veche/train/views/state_pieces.h"

namespace veche {

// The state of nodes in a view, from those that have it to those that lack it, on the channel's children.

struct Fetched {
  std::size_t pieces = 0, of = 0;  // so many came; the others were here already
};

// Makes this node's state that of the donors, who all have the same. Throws PeerLost when too few are left;
// the node then has what it had, and the pieces that came are kept and not asked for again.
Fetched fetch_state(NodeSelf& self, Channel& channel, const std::vector<NodeId>& donors);

// Answers until all of these have what they need.
void serve_state(NodeSelf& self, Channel& channel, const std::vector<NodeId>& takers);

}  // namespace veche
