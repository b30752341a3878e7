#pragma once

#include <vector>

#include "veche/graph.h"

namespace veche {

enum class Sign { free, nonnegative };

struct OptimalWeights {
  std::vector<double> weights;  // in the order of graph.edges()
  double rho = 1;               // recomputed from the weights, not taken from the solver
  double bound = 0;             // no weights on this graph have a smaller rho; proof in certificate.h
};

// The weights with the smallest rho, hence the fastest consensus. With free signs: fastest
// distributed linear averaging. Otherwise the fastest mixing Markov chain: weights and self-weights
// are at least 0. The graph must be connected. Graphs that look the same from every node are solved
// for millions of nodes. For other graphs the time grows with the cube of the number of edges;
// above 6,000 edges a RequestError suggests another rule.
//
// A directed graph must look the same from every node, as the exponential graph does, so that W
// stays doubly stochastic; other directed graphs are a RequestError.
OptimalWeights optimal_weights(const Graph& graph, Sign sign);

// The best constant weight for all edges; directed graphs as above.
double best_constant_weight(const Graph& graph);

}  // namespace veche
