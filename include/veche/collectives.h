#pragma once

#include <span>
#include <vector>

#include "veche/channel.h"
#include "veche/export.h"

namespace veche {

// Operations in which all nodes take part, made of sends and receives. All nodes call the same
// operations in the same order. They throw PeerLost when a node they need is lost, and BadMessage
// when a node sends a vector of another length. docs/algorithms.md lists the steps and bytes of
// each.

// Returns when all nodes have called it.
VECHE_API void barrier(Channel& channel);

// Copies the root's data to all nodes.
VECHE_API void broadcast(Channel& channel, NodeId root, std::span<float> data);

// Returns the items of all nodes, by node. Items may differ in size.
VECHE_API std::vector<Message> all_gather(Channel& channel, Message mine);

// Replaces the data of every node by the sum over all nodes, the same bits on every node, by the
// ring algorithm. `strategy.algorithm` of all-reduce chooses others.
VECHE_API void all_reduce(Channel& channel, std::span<float> data);

}  // namespace veche
