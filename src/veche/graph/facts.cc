#include "veche/graph/facts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "veche/graph/spectra/spectrum.h"
#include "veche/graph/spectra/translation.h"

namespace veche {
namespace {

struct Farthest {
  int node = 0;
  int distance = 0;
};

Farthest farthest_from(const Graph& graph, int start, std::vector<int>& distance, std::vector<int>& queue) {
  std::ranges::fill(distance, -1);
  queue.assign(1, start);
  distance[static_cast<std::size_t>(start)] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const int here = distance[static_cast<std::size_t>(queue[i])];
    for (const int next : graph.neighbors(queue[i])) {
      int& there = distance[static_cast<std::size_t>(next)];
      if (there >= 0) continue;
      there = here + 1;
      queue.push_back(next);
    }
  }
  return {queue.back(), distance[static_cast<std::size_t>(queue.back())]};
}

void find_diameter(const Graph& graph, GraphFacts& facts) {
  std::vector<int> distance(static_cast<std::size_t>(graph.nodes())), queue;
  const auto farthest = [&](int start) { return farthest_from(graph, start, distance, queue); };
  const double work =
      static_cast<double>(graph.nodes()) * static_cast<double>(graph.edges().size() + distance.size());
  if (work <= 3e8) {
    for (int i = 0; i < graph.nodes(); ++i) facts.diameter = std::max(facts.diameter, farthest(i).distance);
    return;
  }
  facts.diameter = farthest(0).distance;
  const bool undirected = graph.kind() == Graph::Kind::undirected;
  if (undirected && Translation::find(laplacian(graph))) return;  // equal for every node
  // Repeated sweeps to the farthest node: a lower bound that is rarely too small.
  Farthest far = farthest(0);
  for (int k = 0; k < 8; ++k) {
    far = farthest(far.node);
    facts.diameter = std::max(facts.diameter, far.distance);
  }
  facts.diameter_exact = undirected && facts.edges + 1 == distance.size();  // exact in a tree
}

}  // namespace

GraphFacts facts_of(const Graph& graph) {
  GraphFacts facts;
  facts.nodes = graph.nodes();
  facts.edges = graph.edges().size();
  facts.degree_min = graph.degree(0);
  for (int i = 0; i < graph.nodes(); ++i) {
    facts.degree_min = std::min(facts.degree_min, graph.degree(i));
    facts.degree_max = std::max(facts.degree_max, graph.degree(i));
    facts.degree_mean += graph.degree(i);
  }
  facts.degree_mean /= graph.nodes();
  find_diameter(graph, facts);
  if (graph.kind() == Graph::Kind::undirected) {
    facts.algebraic_connectivity = extremes_besides_ones(laplacian(graph)).low;
  }
  return facts;
}

double weight_between(const Mixing& mixing, int reader, int read) {
  const auto row = mixing.row(reader);
  const auto place = std::ranges::lower_bound(row, read, {}, &Weight::node);
  return place != row.end() && place->node == read ? place->value : 0.0;
}

NegativeWeights negative_weights(const Graph& graph, const Mixing& mixing) {
  NegativeWeights count;
  for (const auto [from, to] : graph.edges()) count.edges += weight_between(mixing, to, from) < 0;
  for (int i = 0; i < graph.nodes(); ++i) count.own += weight_between(mixing, i, i) < 0;
  return count;
}

double convergence_time(double rate) {
  if (rate >= 1) return std::numeric_limits<double>::infinity();
  return rate <= 0 ? 0 : -1 / std::log(rate);
}

double rounds_to_shrink(double rate, double part) {
  if (rate >= 1) return std::numeric_limits<double>::infinity();
  return rate <= 0 ? 1 : std::max(1.0, std::ceil(std::log(part) / std::log(rate) - 1e-9));
}

}  // namespace veche
