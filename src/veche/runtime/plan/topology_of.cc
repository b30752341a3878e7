#include "veche/runtime/plan/topology_of.h"

#include <array>

#include "veche/errors.h"
#include "veche/graph/topology.h"
#include "veche/runtime/plan/strategy_choice.h"

namespace veche {

std::shared_ptr<const Topology> build_topology(const Settings& settings) {
  const StrategyInfo& info = strategy_of(settings);
  if (!info.uses_topology()) return {};
  const int nodes = info.graph_nodes(settings.strategy, settings.replicas());
  if (nodes == 1 && settings.replicas() > 1) return {};  // a single group has no neighbours
  return make_topology({.graph = settings.topology.graph,
                        .weights = settings.topology.weights,
                        .nodes = nodes,
                        .seed = settings.seed(),
                        .directed_allowed = info.graph == StrategyInfo::Graph::directed});
}

std::shared_ptr<const Topology> build_topology_of_view(const Settings& settings) {
  try {
    return build_topology(settings);
  } catch (const RequestError&) {
    Settings other = settings;
    other.topology.graph = "complete";
    return build_topology(other);
  }
}

bool has_a_count(const Settings& settings) {
  try {
    make_topology(
        {.graph = settings.topology.graph, .weights = "metropolis", .nodes = {}, .seed = settings.seed()});
    return true;
  } catch (const RequestError&) {
    return false;
  }
}

// A family may lack a graph of one of these sizes, but not of all.
std::shared_ptr<const Topology> check_family(Settings settings) {
  constexpr std::array kSizes{4, 5, 6, 8, 9, 3, 2};
  for (const int nodes : kSizes) {
    settings.cluster.nodes = nodes;
    try {
      return build_topology(settings);
    } catch (const RequestError&) {
      if (nodes == kSizes.back()) throw;
    }
  }
  return {};
}

}  // namespace veche
