#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/channel.h"
#include "veche/comm/allreduce/wire.h"

namespace veche {

// Algorithms that replace the data of every node by the sum over all nodes. docs/algorithms.md
// lists the rule, steps and bytes of each. `native` is the engine's own
// (comm/engine_collectives.h), or the same sum by messages where an engine has none. `automatic`,
// "auto" for users, chooses by a table (comm/allreduce/allreduce_table.h).
enum class AllReduceAlgorithm { all_to_all, tree, ring, halving_doubling, native, automatic };

const std::vector<std::string>& all_reduce_names();
// Throws RequestError with the nearest name.
AllReduceAlgorithm all_reduce_named(std::string_view name);
const std::string& name_of(AllReduceAlgorithm algorithm);

// Replaces the data of every node by the sum over all nodes: the same bits on every node and in
// every run. The length is the same on all nodes. Throws PeerLost when a node is lost; the data are
// then undefined. `wire`: how floats are encoded; null: not at all, and only then the engine's own
// collective is used.
void all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm, Wire* wire = nullptr);

// The same in two moments, so that a node can compute in between. `begin` sends what does not
// depend on other nodes, and never waits; the data must not change until `complete` has returned.
// Several may be under way, each on a channel with its own tag. Both get the same wire and the same
// algorithm, which is not `automatic`.
void begin_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm,
                      Wire* wire = nullptr);
void complete_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm,
                         Wire* wire = nullptr);

// Completes several at once: while one waits for the network, the others go on. In the same order
// on every node.
struct PendingAllReduce {
  Channel& channel;
  std::span<float> data;
};
void complete_all_reduces(std::span<const PendingAllReduce> begun, AllReduceAlgorithm algorithm,
                          Wire* wire = nullptr);

}  // namespace veche
