#include "veche/config.h"
#include "veche/errors.h"
#include "veche/graph/topology.h"
#include "veche/runtime/registry.h"
#include "web/watch/follower.h"

namespace veche::web {
namespace {

constexpr int kMostNodesDrawn = 200, kMostNodesCounted = 5000;

// Nothing where the configuration names something unknown to this program.
std::optional<Settings> resolved(const std::string& config) {
  try {
    return Config::from_text(config).resolve();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

ConfiguredGraph graph_of_config(const std::string& config) {
  ConfiguredGraph graph;
  const auto settings = resolved(config);
  if (!settings) return graph;
  graph.nodes = settings->nodes();
  try {
    const StrategyInfo& strategy = find_strategy(settings->strategy.name);
    if (!strategy.uses_topology()) return graph;
    graph.family = settings->topology.graph;
    graph.weights = settings->topology.weights;
    graph.of_groups = strategy.graph_nodes(settings->strategy, graph.nodes) != graph.nodes;
  } catch (const Error&) {
    // Its strategy is registered by another program: nodes only.
  }
  return graph;
}

Edges edges_of_config(const std::string& config, int nodes) {
  Edges edges;
  const auto settings = resolved(config);
  const ConfiguredGraph graph = graph_of_config(config);
  if (!settings || graph.family.empty() || graph.of_groups || nodes > kMostNodesCounted) return edges;
  const bool drawn = nodes <= kMostNodesDrawn;
  try {
    // Weights of a large graph may take long, and are not shown.
    const auto topology = build_topology({.graph = graph.family,
                                          .weights = drawn ? graph.weights : "metropolis",
                                          .nodes = nodes,
                                          .seed = settings->seed(),
                                          .directed_allowed = true});
    edges.count = topology->graph().edges().size();
    if (!drawn) return edges;
    const auto mixing = topology->at(0);
    for (const Edge& edge : topology->graph().edges()) {
      double weight = 0;
      for (const Weight& other : mixing->row(edge.to))
        if (other.node == edge.from) weight = other.value;
      edges.drawn.push_back({edge.from, edge.to, weight});
    }
  } catch (const Error&) {
    // A single member is no ring: there are no edges until others join.
  }
  return edges;
}

}  // namespace veche::web
