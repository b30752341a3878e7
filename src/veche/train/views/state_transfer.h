#pragma once

#include <vector>

#include "veche/channel.h"
#include "veche/train/views/state_pieces.h"

namespace veche {

// The state of nodes in a view, from those that have it to those that lack it, on the channel's children.

struct Fetched {
  std::size_t pieces = 0, of = 0;  // so many came; the others were here already
  std::uint64_t steps = 0;         // instead of pieces: it made these steps as the others had
};

// Where equal models are to be; no hash: they are not equal.
struct Goal {
  std::uint64_t step = 0, hash = 0;
};

// Makes this node's state that of the donors, who all have the same. Throws PeerLost when too few are left;
// the node then has what it had, and the pieces that came are kept and not asked for again.
Fetched fetch_state(NodeSelf& self, Channel& channel, const std::vector<NodeId>& donors, const Goal& goal);

// Answers until all of these have what they need.
void serve_state(NodeSelf& self, Channel& channel, const std::vector<NodeId>& takers);

}  // namespace veche
