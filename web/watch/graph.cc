#include <set>

#include "veche/config.h"
#include "veche/errors.h"
#include "veche/graph/topology.h"
#include "veche/runtime/registry.h"
#include "web/report/records.h"
#include "web/watch/follower.h"

namespace veche::web {
namespace {

constexpr int kMostNodesDrawn = 500;

}  // namespace

// As run_plan.cc builds it. If the configuration names something unknown to this program: nodes
// only.
nlohmann::json graph_of_config(const std::string& config) {
  nlohmann::json json{{"nodes", 0}, {"edges", nlohmann::json::array()}, {"about", ""}};
  try {
    const Settings settings = Config::from_text(config).resolve();
    json["nodes"] = settings.nodes();
    const StrategyInfo& strategy = find_strategy(settings.strategy.name);
    if (!strategy.uses_topology()) {
      json["about"] = strategy.name + ": no graph, everybody may talk to everybody";
      return json;
    }
    const int nodes = strategy.graph_nodes(settings.strategy, settings.nodes());
    if (nodes != settings.nodes() || nodes > kMostNodesDrawn) {
      json["about"] = nodes > kMostNodesDrawn ? "too many nodes to draw edges" : "a graph of groups of nodes";
      return json;
    }
    const auto topology = build_topology({.graph = settings.topology.graph,
                                          .weights = settings.topology.weights,
                                          .nodes = nodes,
                                          .seed = settings.seed(),
                                          .directed_allowed = true});
    json["about"] = topology->describe();
    const auto mixing = topology->at(0);
    for (const Edge& edge : topology->graph().edges()) {
      double weight = 0;
      for (const Weight& other : mixing->row(edge.to))
        if (other.node == edge.from) weight = other.value;
      json["edges"].push_back({edge.from, edge.to, weight});
    }
  } catch (const Error& error) {
    json["about"] = error.what();
  }
  return json;
}

}  // namespace veche::web
