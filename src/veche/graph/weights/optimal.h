#pragma once

#include <vector>

#include "veche/graph.h"

namespace veche {

enum class Sign { free, nonnegative };

struct OptimalWeights {
  std::vector<double> weights;  // in the order of graph.edges()
  double rho = 1;               // recomputed from the weights, whatever the solver said
  double bound = 0;             // no weights on this graph can have a smaller rho; proved, see certificate.h
};

// The weights that make nodes agree fastest: rho is the smallest possible. With free signs the fastest
// distributed linear averaging, else the fastest mixing Markov chain (weights and what a node keeps are all
// at least 0). The graph must be connected. Graphs that look the same from every node are solved for millions
// of nodes; on others time grows with the cube of the number of edges, and above 6,000 edges RequestError
// names another rule.
// Directed graphs are taken only when they look the same from every node, as the exponential graph does; then
// W stays doubly stochastic. RequestError for others.
OptimalWeights optimal_weights(const Graph& graph, Sign sign);

// One weight for all edges, the best there is; on directed graphs as above.
double best_constant_weight(const Graph& graph);

}  // namespace veche
