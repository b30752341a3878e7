#pragma once

#include <map>
#include <span>

#include "veche/compress/power_gossip.h"
#include "veche/train/compression/coder.h"

namespace veche {

// PowerGossip (Vogels, Karimireddy and Jaggi 2020) with every neighbour: both ends of an edge move
// towards each other along a power iteration's approximation of their difference.
class PowerEdges {
 public:
  PowerEdges(Coder& coder, Channel& channel, const StreamShape& shape, std::span<const NodeId> neighbours);

  // One round with these edges, each with its weight; all neighbours do the same.
  struct Edge {
    NodeId to;
    double weight = 0;
  };
  void mix(std::span<const Edge> edges, std::span<float> x);

  void add_state(SavedState& state);

 private:
  struct End {
    PowerGossip gossip;
    std::uint64_t round = 0;
  };

  Coder& coder_;
  Channel& channel_;
  std::map<NodeId, End> ends_;
};

}  // namespace veche
