#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/channel.h"
#include "veche/comm/allreduce/wire.h"

namespace veche {

// Ways for everybody's data to become the sum over all nodes. Rule, steps and bytes of each:
// docs/algorithms.md. `native` is the engine's own (comm/engine_collectives.h), or the same sum by messages
// where an engine has none; `automatic`, called "auto" by users, takes it from a table
// (comm/allreduce/allreduce_table.h).
enum class AllReduceAlgorithm { all_to_all, tree, ring, halving_doubling, native, automatic };

const std::vector<std::string>& all_reduce_names();
// Throws RequestError with the nearest name.
AllReduceAlgorithm all_reduce_named(std::string_view name);
const std::string& name_of(AllReduceAlgorithm algorithm);

// Everybody's data become their sum over all nodes: the same bits on every node and in every run. Any number
// of nodes, any length, the same on all. Throws PeerLost when a node is gone; the data are then of no use.
// `wire`: how the floats travel; none: as they are, and only then by an engine's own collective.
void all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm, Wire* wire = nullptr);

// The same in two moments, so that a node may compute in between. `begin` sends what can be sent without
// hearing from anybody and never waits; the data must not change until `complete` has returned. Several may
// be under way, each on a channel with a tag of its own. Both get the same algorithm, which is not
// `automatic`, and the same wire.
void begin_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm,
                      Wire* wire = nullptr);
void complete_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm,
                         Wire* wire = nullptr);

// Several that were begun, side by side: a long way of one is used to go on with the others. In the same
// order on every node.
struct BegunAllReduce {
  Channel& channel;
  std::span<float> data;
};
void complete_all_reduces(std::span<const BegunAllReduce> begun, AllReduceAlgorithm algorithm,
                          Wire* wire = nullptr);

}  // namespace veche
