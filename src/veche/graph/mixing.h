#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/graph/graph.h"

namespace veche {

struct Weight {
  int node = 0;
  double value = 0;
};

// The mixing matrix W of one round: x_i <- sum_j w_ij x_j. Sparse, one row a node, the node itself included,
// sorted by node: the order in which sums are taken everywhere, which makes runs repeatable to the bit.
class Mixing {
 public:
  // Throws RequestError, naming the row, when a row does not sum to one (to 1e-9).
  explicit Mixing(std::vector<std::vector<Weight>> rows);

  int nodes() const { return static_cast<int>(rows_.size()); }
  std::span<const Weight> row(int node) const { return rows_[static_cast<std::size_t>(node)]; }
  // The others that need this node's vector: those j != node with w_j,node in their row. Sorted.
  std::span<const int> readers(int node) const { return readers_[static_cast<std::size_t>(node)]; }

 private:
  std::vector<std::vector<Weight>> rows_;
  std::vector<std::vector<int>> readers_;
};

// `rule` is one of the weight rules of docs/topologies.md.
Mixing make_mixing(const Graph& graph, std::string_view rule);

// The second largest modulus of W's eigenvalues: the factor by which disagreement shrinks per round.
double spectral_radius(const Mixing& mixing);

}  // namespace veche
