#include <algorithm>
#include <optional>
#include <vector>

#include "veche/config.h"
#include "veche/errors.h"
#include "veche/graph/topology.h"
#include "veche/runtime/config/network_keys.h"
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

// What lies between every two nodes of a run in virtual time. Other runs know their network only by
// its traffic, and a platform file is SimGrid's to read.
class DescribedNetwork {
 public:
  DescribedNetwork(const Settings& settings, int nodes) {
    if (settings.cluster.transport != Transport::simulated || settings.network.platform) return;
    network_ = read_network(settings.network, nodes, settings.seed());
    for (std::size_t site = 0; site < network_->sites.size(); ++site)
      for (const SimLink& link : network_->sites[site].links) at_.push_back({link, site});
  }

  // The narrowest link on the way, and the latencies of all. Nothing where it is not known.
  std::optional<SimLink> between(int one, int other) const {
    if (!network_) return std::nullopt;
    if (network_->shape == SimNetwork::Shape::full) return network_->pair;
    if (static_cast<std::size_t>(std::max(one, other)) >= at_.size()) return std::nullopt;
    const Place &a = at_[static_cast<std::size_t>(one)], &b = at_[static_cast<std::size_t>(other)];
    SimLink way = joined(a.link, b.link);
    if (a.site == b.site) return way;
    for (const std::size_t site : {a.site, b.site})
      if (network_->sites[site].has_uplink) way = joined(way, network_->sites[site].uplink);
    return way;
  }

 private:
  struct Place {
    SimLink link;
    std::size_t site;
  };

  static SimLink joined(const SimLink& a, const SimLink& b) {
    return {std::min(a.bandwidth, b.bandwidth), a.latency + b.latency};
  }

  std::optional<SimNetwork> network_;
  std::vector<Place> at_;  // by node
};

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
    const DescribedNetwork network(*settings, nodes);
    for (const Edge& edge : topology->graph().edges()) {
      double weight = 0;
      for (const Weight& other : mixing->row(edge.to))
        if (other.node == edge.from) weight = other.value;
      edges.drawn.push_back({edge.from, edge.to, weight});
      if (const auto link = network.between(edge.from, edge.to)) {
        edges.drawn.back().push_back(link->bandwidth);
        edges.drawn.back().push_back(link->latency);
      }
    }
  } catch (const Error&) {
    // A single member is no ring: there are no edges until others join.
  }
  return edges;
}

}  // namespace veche::web
