#include "veche/graph/topology.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "veche/errors.h"
#include "veche/graph/families/spec.h"
#include "veche/graph/io/graph_file.h"
#include "veche/graph/topology_kinds.h"

namespace veche {
namespace {

// The rule `file` alone means the weights in the graph's own file.
std::string rule_for(const TopologyRequest& request) {
  if (request.weights != "file") return request.weights;
  if (!request.graph.starts_with("file:")) {
    throw RequestError(
        fmt::format("the weights 'file' are read from the graph's own file, and '{}' is not a file: use "
                    "file:PATH",
                    request.graph));
  }
  return request.graph;
}

std::shared_ptr<const Topology> one_peer(std::string_view spec, const SpecContext& context,
                                         const std::string& rule) {
  const int nodes = spec_nodes(spec, context);
  check_nodes(spec, nodes, context);
  Graph::check_size(nodes, nodes * std::log2(std::max(nodes, 2)));
  // A round that joins only some nodes has no optimal weights of its own: half and half is best
  // over the period.
  const bool best = rule.starts_with("optimal") || rule == "best-constant";
  const std::string pairwise = best ? "metropolis" : rule;
  std::vector<Graph> graphs;
  std::vector<Mixing> rounds;
  for (int hop = 1; hop < nodes || graphs.empty(); hop *= 2) {
    std::vector<Edge> edges;
    edges.reserve(static_cast<std::size_t>(nodes));
    for (int i = 0; i < nodes; ++i) edges.push_back({i, (i + hop) % nodes});
    graphs.emplace_back(nodes, std::move(edges), Graph::Kind::directed);
    rounds.push_back(make_mixing(graphs.back(), pairwise));
  }
  return cyclic_topology(graphs, std::move(rounds), fmt::format("one-peer-exponential:{}, {}", nodes, rule));
}

void add_words(FileNotes& words, const std::vector<std::string>& labels, const std::string& notice) {
  if (words.labels.empty()) words.labels = labels;
  if (!notice.empty() && std::ranges::find(words.notices, notice) == words.notices.end())
    words.notices.push_back(notice);
}

// schedule:SPEC1,SPEC2,...
std::shared_ptr<const Topology> listed(std::string_view list, const SpecContext& context,
                                       const std::string& rule, FileNotes& words) {
  std::vector<Graph> graphs;
  std::vector<Mixing> rounds;
  std::vector<std::string> names;
  if (list.empty()) throw RequestError("a schedule lists its graphs, as in schedule:ring:8,star:8");
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    SpecGraph one = read_spec(list.substr(begin, end - begin), context);
    begin = end + 1;
    if (!graphs.empty() && one.graph.nodes() != graphs[0].nodes()) {
      throw RequestError(
          fmt::format("the graphs of a schedule must have the same nodes, but '{}' has {} and '{}' has {}",
                      names[0], graphs[0].nodes(), one.name, one.graph.nodes()));
    }
    add_words(words, one.labels, one.notice);
    rounds.push_back(make_mixing(one.graph, rule));
    graphs.push_back(std::move(one.graph));
    names.push_back(std::move(one.name));
  }
  return cyclic_topology(graphs, std::move(rounds),
                         fmt::format("schedule:{}, {}", fmt::join(names, ","), rule));
}

// A file that lists several graphs: one per round.
std::shared_ptr<const Topology> listed_in_file(const std::string& spec,
                                               const std::vector<StoredGraph>& stored,
                                               const SpecContext& context, const std::string& rule,
                                               FileNotes& words) {
  std::vector<Graph> graphs;
  std::vector<Mixing> rounds;
  for (const StoredGraph& one : stored) {
    add_words(words, one.labels, notice_of(spec.substr(5), stored));
    graphs.push_back(graph_in_file(spec.substr(5), one, context.directed_allowed));
    check_nodes(spec, graphs.back().nodes(), context);
    if (graphs.back().nodes() != graphs[0].nodes()) {
      throw RequestError(
          fmt::format("the graph file '{}': its graphs have {} and {} nodes, but must have the same",
                      spec.substr(5), graphs[0].nodes(), graphs.back().nodes()));
    }
    rounds.push_back(rule == spec ? mixing_of(one, graphs.back()) : make_mixing(graphs.back(), rule));
  }
  return cyclic_topology(graphs, std::move(rounds), spec + ", " + rule);
}

// {0, 1, 2}, or with their labels {0 "Oslo", 1 "Bergen"}.
std::string list(const std::vector<int>& component, std::span<const std::string> labels) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> shown;
  const auto add = [&](int node) {
    const std::string label = labels.empty() ? "" : labels[static_cast<std::size_t>(node)];
    shown.push_back(label.empty() ? std::to_string(node) : fmt::format("{} \"{}\"", node, label));
  };
  if (component.size() <= kMost) {
    for (const int node : component) add(node);
    return fmt::format("{{{}}}", fmt::join(shown, ", "));
  }
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}, component.size() - 1})
    add(component[i]);
  return fmt::format("{{{}, {}, {}, ... {}}} ({} nodes)", shown[0], shown[1], shown[2], shown[3],
                     component.size());
}

void refuse_disconnected(const Graph& graph, const std::string& spec, std::span<const std::string> labels) {
  constexpr std::size_t kMost = 6;
  const auto components = graph.components();
  if (components.size() == 1) return;
  std::vector<std::string> shown;
  for (const auto& component : components) {
    if (shown.size() == kMost) {
      shown.push_back(fmt::format("{} more", components.size() - kMost));
      break;
    }
    shown.push_back(list(component, labels));
  }
  throw RequestError(fmt::format("the graph '{}' is not connected: {} cannot reach each other", spec,
                                 fmt::join(shown, " and ")));
}

// If columns do not sum to one, the average moves. Only strategies that carry weights along can
// correct it.
void refuse_moving_average(const Topology& topology) {
  for (std::uint64_t k = 0; k < topology.period(); ++k) {
    const auto mixing = topology.at(k);
    std::vector<double> sums(static_cast<std::size_t>(topology.nodes()), 0.0);
    for (int i = 0; i < topology.nodes(); ++i) {
      for (const Weight& weight : mixing->row(i)) sums[static_cast<std::size_t>(weight.node)] += weight.value;
    }
    for (std::size_t j = 0; j < sums.size(); ++j) {
      if (std::abs(sums[j] - 1) < 1e-9) continue;
      throw RequestError(
          fmt::format("'{}' does not keep the average: the weights that others give to node {} sum to "
                      "{:.6g}, not to 1, which only a strategy for directed graphs such as push-sum "
                      "corrects",
                      topology.describe(), j, sums[j]));
    }
  }
}

}  // namespace

std::shared_ptr<const Topology> build_topology(const TopologyRequest& request) {
  const SpecContext context{request.nodes, request.seed, request.directed_allowed};
  const std::string rule = rule_for(request);
  const std::string_view spec = request.graph;
  std::shared_ptr<const Topology> topology;
  FileNotes words;
  if (spec.starts_with("one-peer-exponential")) {
    topology = one_peer(spec, context, rule);
  } else if (spec.starts_with("schedule:")) {
    topology = listed(spec.substr(9), context, rule, words);
  } else if (spec.starts_with("matchings:")) {
    SpecGraph base = read_spec(spec.substr(10), context);
    if (base.graph.kind() == Graph::Kind::directed) {
      throw RequestError(
          fmt::format("a matching needs edges that go both ways, and '{}' is directed", base.name));
    }
    add_words(words, base.labels, base.notice);
    check_rule(rule);  // although matched nodes always take their mean
    topology = matching_topology(std::move(base.graph), request.seed, "matchings:" + base.name);
  } else if (spec.starts_with("file:")) {
    const std::vector<StoredGraph> stored = read_graph_file(std::string(spec.substr(5)));
    if (stored.size() > 1) topology = listed_in_file(request.graph, stored, context, rule, words);
  }
  if (!topology) {
    SpecGraph one = read_spec(spec, context);
    add_words(words, one.labels, one.notice);
    refuse_disconnected(one.graph, one.name, words.labels);
    Weighing weighing = weigh(one.graph, rule);
    topology = static_topology(std::move(one.graph), std::move(weighing), one.name + ", " + request.weights);
  }
  refuse_disconnected(topology->graph(), request.graph, words.labels);
  if (!request.directed_allowed) refuse_moving_average(*topology);
  return labelled_topology(std::move(topology), std::move(words));
}

std::shared_ptr<const Topology> make_topology(const TopologyRequest& request) {
  auto topology = build_topology(request);
  // Every node keeps a positive self-weight under these rules, so a connected graph always
  // converges.
  const bool safe =
      request.weights == "metropolis" || request.weights == "uniform" || topology->period() == 0;
  if (safe || topology->contraction().rate < 1) return topology;
  throw RequestError(
      fmt::format("the weights '{}' never make the nodes of '{}' agree (rho is {:.6g}: some disagreement "
                  "is only passed round or grows): use metropolis, which always converges",
                  request.weights, request.graph, topology->contraction().rate));
}

}  // namespace veche
