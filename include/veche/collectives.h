#pragma once

#include <span>
#include <vector>

#include "veche/channel.h"
#include "veche/export.h"

namespace veche {

// Operations in which all nodes take part, made of sends and receives. Every node calls the same ones in the
// same order. They throw PeerLost when a node they need is gone. Steps and bytes of each are in
// docs/algorithms.md.

// Returns when every node has called it.
VECHE_API void barrier(Channel& channel);

// Everybody's data become the root's.
VECHE_API void broadcast(Channel& channel, NodeId root, std::span<float> data);

// Everybody's item, by node. Items may differ in size.
VECHE_API std::vector<Message> all_gather(Channel& channel, Message mine);

// Everybody's data become the sum over all nodes, the same bits on every node, by the ring. The other
// algorithms, and how to choose: comm/allreduce/allreduce.h.
VECHE_API void all_reduce(Channel& channel, std::span<float> data);

}  // namespace veche
