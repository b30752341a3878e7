#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/batch.h"
#include "veche/endpoint.h"
#include "veche/node_id.h"

namespace veche {

// A node at the end of a step: enough to go on to the same bits. Holds nothing that depends on the
// clock, so that equal runs write equal files.
struct NodeState {
  std::uint64_t step = 0;  // steps done
  Score train;             // since the last evaluation
  Score evaluated;         // `train` at the last evaluation
  Traffic sent;
  std::vector<std::span<float>> vectors = {};  // parameters, buffers, the optimizer's state, the strategy's
  std::vector<std::uint64_t*> numbers = {};    // the strategy's counters
  std::vector<std::uint64_t*> counters = {};  // the node's own; a file with fewer leaves the rest as they are
  bool trains = true;                         // its model counts in the average of the nodes' models
};

// Stores checkpoints. Every node calls `write` on its own thread; when all calls have returned,
// node 0's process calls `commit` once. A checkpoint that was not committed does not exist. Its
// number is the step of nodes in step, and the mean of all nodes' steps in asynchronous runs.
class Checkpointer {
 public:
  virtual ~Checkpointer() = default;
  virtual void write(std::uint64_t number, NodeId node, const NodeState& state) = 0;
  virtual void commit(std::uint64_t number) = 0;
};

}  // namespace veche
