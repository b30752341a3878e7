#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/batch.h"
#include "veche/endpoint.h"
#include "veche/node_id.h"

namespace veche {

// All that makes a node at the end of a step: enough to go on to the very bits. Holds nothing that depends on
// the clock, so that equal runs leave equal files.
struct NodeState {
  std::uint64_t step = 0;  // steps done
  Score train;             // since the last evaluation
  Score evaluated;         // what it was then
  Traffic sent;
  std::vector<std::span<float>> vectors = {};  // parameters, buffers, the optimiser's, the strategy's
  std::vector<std::uint64_t*> numbers = {};    // the strategy's counters
  std::vector<std::uint64_t*> counters = {};   // the node's own; a file of fewer leaves the others alone
  bool trains = true;                          // its model is part of the average of the nodes' models
};

// Where nodes put themselves away. `write` is called by every node, on its own thread; when all have
// returned, `commit` once in node 0's process. A checkpoint that was not committed does not exist. Its number
// is the step that nodes in step have reached, and the mean of the steps of asynchronous ones.
class Checkpointer {
 public:
  virtual ~Checkpointer() = default;
  virtual void write(std::uint64_t number, NodeId node, const NodeState& state) = 0;
  virtual void commit(std::uint64_t number) = 0;
};

}  // namespace veche
