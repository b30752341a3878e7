// The weight rules: from a name to W. Each closed form is a few lines; the optimal ones live in optimal.cc.
#include <algorithm>
#include <string>
#include <vector>

#include "veche/base/errors.h"
#include "veche/base/nearest.h"
#include "veche/graph/mixing.h"
#include "veche/graph/spectrum.h"

namespace veche {
namespace {

// w(i,j) = share(degree of i, degree of j) on every edge; a node keeps the rest.
template <class Share>
Mixing by_degrees(const Graph& graph, Share share) {
  std::vector<double> weights;
  weights.reserve(graph.edges().size());
  for (const auto [i, j] : graph.edges()) weights.push_back(share(graph.degree(i), graph.degree(j)));
  return mixing_from_edges(graph, weights);
}

int largest_degree(const Graph& graph) {
  int largest = 0;
  for (int i = 0; i < graph.nodes(); ++i) largest = std::max(largest, graph.degree(i));
  return largest;
}

}  // namespace

std::span<const std::string> weight_rules() {
  static const std::vector<std::string> names{"uniform", "metropolis", "metropolis-hastings", "max-degree"};
  return names;
}

Mixing make_mixing(const Graph& graph, std::string_view rule) {
  if (rule == "metropolis") {
    return by_degrees(graph, [](int a, int b) { return 1.0 / (1 + std::max(a, b)); });
  }
  if (rule == "metropolis-hastings") {
    return by_degrees(graph, [](int a, int b) { return 1.0 / std::max(a, b); });
  }
  const int largest = largest_degree(graph);
  if (rule == "uniform") {
    return by_degrees(graph, [largest](int, int) { return 1.0 / (1 + largest); });
  }
  if (rule == "max-degree") {
    return by_degrees(graph, [largest](int, int) { return 1.0 / largest; });
  }
  throw RequestError("there is no weight rule '" + std::string(rule) + "'" +
                     suggestion(rule, weight_rules()));
}

}  // namespace veche
