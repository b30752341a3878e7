#pragma once

#include <functional>
#include <string>
#include <vector>

#include "veche/graph.h"

namespace veche {

// The result of a search for the graph with the fastest consensus.
struct FoundGraph {
  Graph graph;
  std::string spec;             // empty if no spec describes the graph: it must be saved as a file
  std::vector<double> weights;  // optimal weights, in the order of graph.edges()
  double rho = 1;
  double bound = 0;  // for weights on this graph; other graphs may be better
};

struct SearchRequest {
  static constexpr int most_nodes = 10'000, most_edges = 500'000;  // a larger search would take hours

  int nodes = 0;
  int degree = 0;  // maximum degree
  std::uint64_t seed = 1;
  std::function<void(double part, double best)> progress;  // may be empty
};

// Searches known families, circulants, and random regular graphs improved by swapping ends of edges
// as long as that helps. The best few get optimal weights. Deterministic. Throws RequestError if no
// connected graph has so small a degree, or if the graph is too large to search.
FoundGraph find_best_graph(const SearchRequest& request);

}  // namespace veche
