// The weight rules: from a name to W. Closed forms are here; the optimal rules are in optimal.cc.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "veche/base/text/nearest.h"
#include "veche/errors.h"
#include "veche/graph/io/graph_file.h"
#include "veche/graph/weights/mixing.h"
#include "veche/graph/weights/optimal.h"

namespace veche {
namespace {

// In-degrees; in an undirected graph the degrees.
std::vector<int> in_degrees(const Graph& graph) {
  const Graph back = graph.reversed();
  std::vector<int> degrees;
  for (int i = 0; i < graph.nodes(); ++i) degrees.push_back(back.degree(i));
  return degrees;
}

// w = share(degree of one end, of the other) on every edge; a node keeps the rest. On a directed
// edge the degrees are the sender's out-degree and the receiver's in-degree.
template <class Share>
Weighing by_degrees(const Graph& graph, Share share) {
  const std::vector<int> in = in_degrees(graph);
  std::vector<double> weights;
  weights.reserve(graph.edges().size());
  for (const auto [i, j] : graph.edges())
    weights.push_back(share(graph.degree(i), in[static_cast<std::size_t>(j)]));
  return {mixing_from_edges(graph, weights), std::nullopt};
}

int largest_degree(const Graph& graph) {
  int largest = std::ranges::max(in_degrees(graph));
  for (int i = 0; i < graph.nodes(); ++i) largest = std::max(largest, graph.degree(i));
  return largest;
}

Weighing uniform(const Graph& graph) {
  return by_degrees(graph, [d = largest_degree(graph)](int, int) { return 1.0 / (1 + d); });
}

Weighing metropolis(const Graph& graph) {
  return by_degrees(graph, [](int a, int b) { return 1.0 / (1 + std::max(a, b)); });
}

Weighing metropolis_hastings(const Graph& graph) {
  return by_degrees(graph, [](int a, int b) { return 1.0 / std::max(a, b); });
}

Weighing max_degree(const Graph& graph) {
  return by_degrees(graph, [d = largest_degree(graph)](int, int) { return 1.0 / d; });
}

Weighing best_constant(const Graph& graph) {
  return by_degrees(graph, [w = best_constant_weight(graph)](int, int) { return w; });
}

Weighing optimal(const Graph& graph) {
  const OptimalWeights best = optimal_weights(graph, Sign::free);
  return {mixing_from_edges(graph, best.weights), best.bound};
}

Weighing optimal_nonnegative(const Graph& graph) {
  const OptimalWeights best = optimal_weights(graph, Sign::nonnegative);
  return {mixing_from_edges(graph, best.weights), best.bound};
}

struct WeightRule {
  std::string_view name;
  Weighing (*weigh)(const Graph&);
};

constexpr std::array rules{
    WeightRule{"metropolis", metropolis}, WeightRule{"metropolis-hastings", metropolis_hastings},
    WeightRule{"max-degree", max_degree}, WeightRule{"best-constant", best_constant},
    WeightRule{"optimal", optimal},       WeightRule{"optimal-nonnegative", optimal_nonnegative},
    WeightRule{"uniform", uniform},
};

}  // namespace

std::span<const std::string> weight_rules() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const WeightRule& rule : rules) all.emplace_back(rule.name);
    all.emplace_back("file:");
    return all;
  }();
  return names;
}

void check_rule(std::string_view rule) {
  if (rule.starts_with("file:") || std::ranges::find(rules, rule, &WeightRule::name) != rules.end()) return;
  throw RequestError("there is no weight rule '" + std::string(rule) + "'" +
                     suggestion(rule, weight_rules()));
}

Weighing weigh(const Graph& graph, std::string_view rule) {
  check_rule(rule);
  if (rule.starts_with("file:")) return {read_weights(std::string(rule.substr(5)), graph), std::nullopt};
  return std::ranges::find(rules, rule, &WeightRule::name)->weigh(graph);
}

Mixing make_mixing(const Graph& graph, std::string_view rule) { return weigh(graph, rule).mixing; }

}  // namespace veche
