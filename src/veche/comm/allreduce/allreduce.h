#pragma once

#include <span>
#include <string>

#include "veche/collectives.h"
#include "veche/comm/allreduce/wire.h"

namespace veche {

// The algorithms and all_reduce itself are public (veche/collectives.h); `native` is that of
// comm/engine_collectives.h, and `automatic` chooses by a table (comm/allreduce/allreduce_table.h).

const std::string& name_of(AllReduceAlgorithm algorithm);

// With a wire, which says how floats are encoded; null: not at all, and only then the engine's own
// collective is used. Both moments get the same wire, and an algorithm that is not `automatic`.
void all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm, Wire* wire);
void begin_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm, Wire* wire);
void complete_all_reduce(Channel& channel, std::span<float> data, AllReduceAlgorithm algorithm, Wire* wire);

// Completes several at once: while one waits for the network, the others go on. In the same order
// on every node.
struct PendingAllReduce {
  Channel& channel;
  std::span<float> data;
};
void complete_all_reduces(std::span<const PendingAllReduce> begun, AllReduceAlgorithm algorithm,
                          Wire* wire = nullptr);

}  // namespace veche
