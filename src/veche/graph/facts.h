#pragma once

#include <cstddef>
#include <optional>

#include "veche/graph.h"
#include "veche/graph/weights/mixing.h"

namespace veche {

// What can be said about a connected graph whatever its weights.
struct GraphFacts {
  int nodes = 0;
  std::size_t edges = 0;
  int degree_min = 0;  // in a directed graph: to how many a node sends
  double degree_mean = 0;
  int degree_max = 0;
  int diameter = 0;
  bool diameter_exact = true;  // else a lower bound: the graph is too large to try all nodes
  std::optional<double>
      algebraic_connectivity;  // the second eigenvalue of the Laplacian; undirected graphs only
};
GraphFacts facts_of(const Graph& graph);

struct NegativeWeights {
  std::size_t edges = 0;  // an undirected edge counts once
  std::size_t own = 0;    // nodes that keep less than nothing of their own
};
NegativeWeights negative_weights(const Graph& graph, const Mixing& mixing);

// w_ij, 0 when node i does not read node j.
double weight_between(const Mixing& mixing, int reader, int read);

// Rounds until disagreement has shrunk to e^-1 (tau), and to a given part. Infinite when rate is 1 or more.
double convergence_time(double rate);
double rounds_to_shrink(double rate, double part);

}  // namespace veche
