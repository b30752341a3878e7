#pragma once

#include <array>
#include <bit>
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

// The sums of errors of a regression, which follow the counters in a file: of `train`, then of
// `evaluated`.
using ErrorSums = std::array<std::uint64_t, 8>;
inline ErrorSums error_sums(const NodeState& state) {
  ErrorSums words{};
  std::size_t at = 0;
  for (const Score* score : {&state.train, &state.evaluated})
    for (const double sum :
         {score->error_sum, score->squared_error_sum, score->target_sum, score->squared_target_sum})
      words[at++] = std::bit_cast<std::uint64_t>(sum);
  return words;
}
inline void set_error_sums(NodeState& state, std::span<const std::uint64_t> words) {
  std::size_t at = 0;
  for (Score* score : {&state.train, &state.evaluated})
    for (double* sum :
         {&score->error_sum, &score->squared_error_sum, &score->target_sum, &score->squared_target_sum})
      *sum = std::bit_cast<double>(words[at++]);
}

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
