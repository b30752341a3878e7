#pragma once

#include <functional>
#include <string>
#include <vector>

#include "veche/graph.h"

namespace veche {

// The outcome of a search for the graph on which nodes agree fastest.
struct FoundGraph {
  Graph graph;
  std::string spec;             // empty when no spec makes it: it must be kept as a file
  std::vector<double> weights;  // optimal ones, in the order of graph.edges()
  double rho = 1;
  double bound = 0;  // for weights on this graph; other graphs may be better
};

struct SearchRequest {
  static constexpr int most_nodes = 10'000, most_edges = 500'000;  // beyond that it would take hours

  int nodes = 0;
  int degree = 0;  // the most neighbours a node may have
  std::uint64_t seed = 1;
  std::function<void(double part, double best)> progress;  // may be empty
};

// Looks among known families, circulants, and random regular graphs improved by exchanging the ends of edges
// for as long as that helps; the best few get optimal weights. The same answer for the same request. Throws
// RequestError when no connected graph has so small a degree, or it would be too large to search for.
FoundGraph find_best_graph(const SearchRequest& request);

}  // namespace veche
