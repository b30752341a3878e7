#pragma once

#include <span>
#include <vector>

#include "veche/comm/channel.h"

namespace veche {

// Operations of all nodes together, made of sends and receives. Every node calls the same ones in the same
// order. They throw PeerLost when a node they need is gone. Steps and bytes of each are in
// docs/algorithms.md.

// Returns when every node has called it.
void barrier(Channel& channel);

// Everybody's data become the root's.
void broadcast(Channel& channel, NodeId root, std::span<float> data);

// Everybody's item, by node. Items may differ in size.
std::vector<Message> all_gather(Channel& channel, Message mine);

// Everybody's data become the sum over all nodes, the same bits on every node, by the ring. The other
// algorithms, and how to choose: comm/allreduce.h.
void all_reduce(Channel& channel, std::span<float> data);

}  // namespace veche
