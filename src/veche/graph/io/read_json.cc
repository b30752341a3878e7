#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "veche/base/text/nesting.h"
#include "veche/errors.h"
#include "veche/graph/io/graph_file.h"
#include "veche/graph/io/named_nodes.h"

namespace veche {
namespace {

using nlohmann::json;

// Refuses numbers beyond int: truncation would name another node.
int node_number(const json& value) {
  const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : -1;
  if (number < 0 || number > std::numeric_limits<int>::max())
    throw RequestError(fmt::format("{} is not the number of a node", value.dump().substr(0, 60)));
  return static_cast<int>(number);
}

// [[i, j], [i, j, w] ...]
std::vector<StoredGraph::Link> read_links(const json& list, const char* what) {
  std::vector<StoredGraph::Link> links;
  for (const json& item : list) {
    const bool fits = item.is_array() && (item.size() == 2 || item.size() == 3) &&
                      item[0].is_number_integer() && item[1].is_number_integer() &&
                      (item.size() == 2 || item[2].is_number());
    if (!fits)
      throw RequestError(fmt::format("'{}' has {}, which is not [node, node] or [node, node, weight]", what,
                                     item.dump().substr(0, 60)));
    StoredGraph::Link link{node_number(item[0]), node_number(item[1]), {}};
    if (item.size() == 3) link.weight = item[2].get<double>();
    links.push_back(link);
  }
  return links;
}

std::string name_of(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// The node-link form of NetworkX and D3: nodes with ids, links with source and target.
StoredGraph read_node_link(const json& object, const json& links) {
  NamedNodes nodes;
  for (const json& node : object.at("nodes")) {
    const std::string name = name_of(node.is_object() ? node.at("id") : node);
    nodes.label(name, node.is_object() && node.contains("label") ? name_of(node.at("label")) : "");
  }
  for (const json& link : links) {
    std::optional<double> weight;
    if (link.contains("weight")) weight = link.at("weight").get<double>();
    nodes.link(name_of(link.at("source")), name_of(link.at("target")), weight);
  }
  return nodes.finish(object.value("directed", false));
}

// [[neighbours of 0], [neighbours of 1] ...]: each undirected edge must be in both lists.
StoredGraph read_neighbors(const json& object) {
  StoredGraph stored;
  stored.directed = true;
  const json& lists = object.at("neighbors");
  stored.nodes = static_cast<int>(lists.size());
  for (int i = 0; i < stored.nodes; ++i) {
    if (!lists[static_cast<std::size_t>(i)].is_array())
      throw RequestError(fmt::format("'neighbors' has no list for node {}", i));
    for (const json& j : lists[static_cast<std::size_t>(i)]) stored.edges.push_back({i, node_number(j), {}});
  }
  return stored;
}

// "labels": one per node, as written by `veche topology --json`.
std::vector<std::string> read_labels(const json& object, int nodes) {
  if (!object.contains("labels")) return {};
  const json& list = object.at("labels");
  if (!list.is_array() || list.size() != static_cast<std::size_t>(nodes))
    throw RequestError(fmt::format("'labels' is not a list of {} words, one a node", nodes));
  std::vector<std::string> labels;
  for (const json& label : list) labels.push_back(clean_label(name_of(label)));
  return labels;
}

StoredGraph read_one(const json& object) {
  if (!object.is_object()) throw RequestError("a graph is not a JSON object with 'nodes' and 'edges'");
  if (object.contains("neighbors")) return read_neighbors(object);
  const auto links = object.contains("links") ? object.find("links") : object.find("edges");
  if (links != object.end() && !links->empty() && links->front().is_object())
    return read_node_link(object, *links);

  StoredGraph stored;
  stored.directed = object.value("directed", false);
  if (links != object.end()) stored.edges = read_links(*links, "edges");
  if (object.contains("weights")) stored.weights = read_links(object.at("weights"), "weights");
  if (stored.edges.empty() && stored.weights.empty())
    throw RequestError("it has no list of edges called 'edges'");
  if (object.contains("nodes")) {
    const json& nodes = object.at("nodes");
    stored.nodes = nodes.is_array() ? static_cast<int>(nodes.size()) : node_number(nodes);
  } else {
    stored.nodes = std::max(nodes_named(stored.edges), nodes_named(stored.weights));
  }
  stored.labels = read_labels(object, stored.nodes);
  return stored;
}

}  // namespace

std::vector<StoredGraph> read_json_graphs(const std::string& text) {
  try {
    check_json_nesting(text);
    const json parsed = json::parse(text);
    const bool several = parsed.is_array() || (parsed.is_object() && parsed.contains("rounds"));
    if (!several) return {read_one(parsed)};
    std::vector<StoredGraph> all;
    for (const json& one : parsed.is_array() ? parsed : parsed.at("rounds")) all.push_back(read_one(one));
    if (all.empty()) throw RequestError("it has no graphs");
    return all;
  } catch (const json::parse_error& error) {
    throw RequestError(fmt::format("it is not JSON (byte {})", error.byte));
  } catch (const json::exception& error) {
    std::string reason = error.what();  // "[json.exception.type_error.302] type must be ..."
    if (const std::size_t end = reason.find("] "); end != std::string::npos) reason = reason.substr(end + 2);
    throw RequestError(reason);
  }
}

}  // namespace veche
