#pragma once

#include <span>
#include <string>
#include <string_view>
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

// Algorithms that replace the data of every node by the sum over all nodes; docs/algorithms.md
// lists the rule, steps and bytes of each. `native` is the engine's own, or the same sum by
// messages where an engine has none. `automatic`, "auto" for users, chooses by the numbers of nodes
// and bytes.
enum class AllReduceAlgorithm { all_to_all, tree, ring, halving_doubling, native, automatic };

// The words of a key like `strategy.algorithm`, in the order of the values.
VECHE_API const std::vector<std::string>& all_reduce_names();
// Throws RequestError with the nearest name.
VECHE_API AllReduceAlgorithm all_reduce_named(std::string_view name);

// Replaces the data of every node by the sum over all nodes: the same bits on every node and in
// every run. The length is the same on all nodes. When a node is lost, the data are undefined.
// Without an algorithm: by the ring.
VECHE_API void all_reduce(Channel& channel, std::span<float> data);
VECHE_API void all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm);

// The same in two moments, so that a node can compute in between. `begin` sends what does not
// depend on other nodes, and never waits; the data must not change until `complete` has returned.
// Several may be under way, each on a channel with its own tag, begun and completed in the same
// order on every node.
VECHE_API void begin_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm);
VECHE_API void complete_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm);

}  // namespace veche
