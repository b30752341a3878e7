#pragma once

#include <cstddef>
#include <optional>

#include "veche/graph.h"
#include "veche/graph/weights/mixing.h"

namespace veche {

// Properties of a connected graph that do not depend on the weights.
struct GraphFacts {
  int nodes = 0;
  std::size_t edges = 0;
  int degree_min = 0;  // out-degree in a directed graph
  double degree_mean = 0;
  int degree_max = 0;
  int diameter = 0;
  bool diameter_exact = true;  // false: a lower bound, since the graph is too large to try all nodes
  std::optional<double>
      algebraic_connectivity;  // the second eigenvalue of the Laplacian; undirected graphs only
};
GraphFacts facts_of(const Graph& graph);

struct NegativeWeights {
  std::size_t edges = 0;  // an undirected edge counts once
  std::size_t own = 0;    // nodes with a negative self-weight
};
NegativeWeights negative_weights(const Graph& graph, const Mixing& mixing);

// w_ij, or 0 if node i does not read node j.
double weight_between(const Mixing& mixing, int reader, int read);

// Rounds until disagreement has shrunk by the factor e (tau), or to a given fraction. Infinite for
// rate >= 1.
double convergence_time(double rate);
double rounds_to_shrink(double rate, double part);

}  // namespace veche
