#include "veche/graph/io/graph_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "veche/base/files/read_text.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr std::uintmax_t kLargestGraphFile = std::uintmax_t{1} << 30;

struct GraphFormat {
  const char* name;
  std::vector<StoredGraph> (*read)(const std::string&);
};

// The first list of a GML file is the graph; a DOT file has a brace before its first bracket.
bool looks_like_gml(std::string_view text) {
  while (text.starts_with('#')) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", std::min(text.find('\n'), text.size()));
    text.remove_prefix(std::min(next, text.size()));
  }
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  const std::size_t list = text.find('[');
  if (list == std::string_view::npos) return false;
  const std::string_view before = text.substr(0, list);
  const std::size_t end = before.find_last_not_of(" \t\r\n");
  return end != std::string_view::npos && before.substr(0, end + 1).ends_with("graph") &&
         before.find('{') == std::string_view::npos;
}

GraphFormat format_of(const std::filesystem::path& path, const std::string& text) {
  const GraphFormat json{"JSON", read_json_graphs}, graphml{"GraphML", read_graphml}, dot{"DOT", read_dot},
      list{"an edge list", read_edge_list}, gml{"GML", read_gml};
  const std::string extension = path.extension().string();
  if (extension == ".json") return json;
  if (extension == ".graphml" || extension == ".xml") return graphml;
  if (extension == ".dot" || extension == ".gv") return dot;
  if (extension == ".gml") return gml;
  if (extension == ".edges" || extension == ".csv" || extension == ".tsv") return list;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return list;
  const std::string_view begin = std::string_view(text).substr(first);
  if (begin[0] == '{' || begin[0] == '[') return json;
  if (begin[0] == '<') return graphml;
  if (looks_like_gml(begin)) return gml;
  if (begin.starts_with("graph") || begin.starts_with("digraph") || begin.starts_with("strict")) return dot;
  return list;
}

// The edges, or the weights if a file has only weights.
const std::vector<StoredGraph::Link>& edges_or_weights(const StoredGraph& stored) {
  return stored.edges.empty() ? stored.weights : stored.edges;
}

}  // namespace

int nodes_named(const std::vector<StoredGraph::Link>& links) {
  int largest = -1;
  for (const auto& link : links) largest = std::max({largest, link.from, link.to});
  Graph::check_size(static_cast<double>(largest) + 1, 0);
  return largest + 1;
}

std::vector<StoredGraph> read_graph_file(const std::filesystem::path& path) {
  const std::string text =
      read_text(path, fmt::format("the graph file '{}'", path.string()), kLargestGraphFile);
  const GraphFormat format = format_of(path, text);
  try {
    std::vector<StoredGraph> stored = format.read(text);
    for (StoredGraph& graph : stored) tidy(graph);
    return stored;
  } catch (const RequestError& error) {
    throw RequestError(
        fmt::format("the graph file '{}', read as {}: {}", path.string(), format.name, error.what()));
  }
}

Graph graph_of(const StoredGraph& stored, bool directed_allowed) {
  std::vector<Edge> edges;
  for (const auto& link : edges_or_weights(stored)) {
    if (link.from == link.to) continue;  // a self-weight
    const bool turned = !stored.directed && link.from > link.to;
    edges.push_back(turned ? Edge{link.to, link.from} : Edge{link.from, link.to});
  }
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  if (!stored.directed) return Graph(stored.nodes, std::move(edges));
  // Every edge in both directions: an undirected graph listed twice.
  Graph directed(stored.nodes, edges, Graph::Kind::directed);
  const std::set<Edge> all(edges.begin(), edges.end());
  const auto alone = std::ranges::find_if(edges, [&](const Edge& e) {
    return !all.contains({e.to, e.from});
  });
  if (alone == edges.end()) {
    std::erase_if(edges, [](const Edge& edge) { return edge.from > edge.to; });
    return Graph(stored.nodes, std::move(edges));
  }
  if (directed_allowed) return directed;
  throw RequestError(
      fmt::format("edge {}->{} goes one way only: add {}->{}, or use a strategy for directed graphs "
                  "such as push-sum",
                  alone->from, alone->to, alone->to, alone->from));
}

Graph graph_in_file(const std::string& path, const StoredGraph& stored, bool directed_allowed) {
  try {
    return graph_of(stored, directed_allowed);
  } catch (const RequestError& error) {
    throw RequestError(fmt::format("the graph file '{}': {}", path, error.what()));
  }
}

Mixing read_weights(const std::string& path, const Graph& graph) {
  const std::vector<StoredGraph> stored = read_graph_file(path);
  if (stored.size() > 1) {
    throw RequestError(
        fmt::format("the weights file '{}' lists {} graphs, where one is wanted", path, stored.size()));
  }
  try {
    return mixing_of(stored[0], graph);
  } catch (const RequestError& error) {
    throw RequestError(fmt::format("the weights file '{}': {}", path, error.what()));
  }
}

Mixing mixing_of(const StoredGraph& stored, const Graph& graph) {
  if (stored.nodes > graph.nodes()) {
    throw RequestError(
        fmt::format("the weights are for {} nodes, but the graph has {}", stored.nodes, graph.nodes()));
  }
  const bool undirected = graph.kind() == Graph::Kind::undirected;
  std::map<Edge, double> given;  // {reader, read}
  for (const auto& link : stored.weights.empty() ? stored.edges : stored.weights) {
    const std::string name = fmt::format("{}{}{}", link.from, undirected ? "-" : "->", link.to);
    if (!link.weight) throw RequestError(fmt::format("edge {} has no weight", name));
    if (std::min(link.from, link.to) < 0 || std::max(link.from, link.to) >= graph.nodes()) {
      throw RequestError(fmt::format("{} is named, but the nodes are 0 to {}", name, graph.nodes() - 1));
    }
    if (link.from != link.to && !std::ranges::binary_search(graph.neighbors(link.from), link.to)) {
      throw RequestError(fmt::format("it has a weight for {}, which is no edge of the graph", name));
    }
    const Edge place = undirected ? Edge{link.from, link.to} : Edge{link.to, link.from};
    if (!given.emplace(place, *link.weight).second) {
      throw RequestError(fmt::format("it has two weights for {}", name));
    }
  }
  std::vector<std::vector<Weight>> rows(static_cast<std::size_t>(graph.nodes()));
  const auto add = [&](int reader, int read) {
    auto found = given.find({reader, read});
    if (found == given.end() && undirected) found = given.find({read, reader});
    if (found == given.end()) {
      throw RequestError(
          fmt::format("it has no weight for edge {}{}{}", read, undirected ? "-" : "->", reader));
    }
    rows[static_cast<std::size_t>(reader)].push_back({read, found->second});
  };
  for (const auto [from, to] : graph.edges()) {
    add(to, from);
    if (undirected) add(from, to);
  }
  for (int i = 0; i < graph.nodes(); ++i) {
    std::vector<Weight>& row = rows[static_cast<std::size_t>(i)];
    double rest = 1;
    for (const Weight& weight : row) rest -= weight.value;
    const auto kept = given.find({i, i});
    row.push_back({i, kept == given.end() ? rest : kept->second});
  }
  return Mixing(std::move(rows));
}

}  // namespace veche
