#pragma once

#include <cstddef>
#include <cstdint>

#include "veche/export.h"

namespace veche {

// How many samples each node trains on at each step. Every node knows this of all nodes without
// sending anything. `nodes` is the number of nodes of the run.
class VECHE_API SampleWeights {
 public:
  virtual ~SampleWeights() = default;

  // Samples behind the gradient of `node` at this step; 0 when it did not train, or its result is
  // lost.
  virtual std::size_t count(std::size_t node, std::uint64_t step) const = 0;
  // Whether the result of this node is lost at this step (cluster.lose).
  virtual bool lost(std::size_t node, std::uint64_t step) const = 0;
  // The node's part of all samples of this step: the weight of its gradient in the mean over
  // samples.
  virtual double share(std::size_t node, std::size_t nodes, std::uint64_t step) const = 0;

  // Whether the node trains at all, and how many nodes do.
  virtual bool has_data(std::size_t node) const = 0;
  virtual std::size_t trainers(std::size_t nodes) const = 0;
  // The node's part of all data: its weight in a mean over data.
  virtual double weight(std::size_t node, std::size_t nodes) const = 0;
  // Steps until every sample of every node was seen once.
  virtual std::uint64_t steps_per_epoch() const = 0;
};

}  // namespace veche
