#include "veche/graph.h"

#include <algorithm>
#include <string>

#include "veche/errors.h"

namespace veche {
namespace {

std::string name_of(const Edge& edge, Graph::Kind kind) {
  return std::to_string(edge.from) + (kind == Graph::Kind::directed ? "->" : "-") + std::to_string(edge.to);
}

void check_edges(int nodes, std::span<const Edge> edges, Graph::Kind kind) {
  for (const Edge& edge : edges) {
    for (const int end : {edge.from, edge.to}) {
      if (end < 0 || end >= nodes) {
        throw RequestError("edge " + name_of(edge, kind) + " names node " + std::to_string(end) +
                           ", but the nodes are 0 to " + std::to_string(nodes - 1));
      }
    }
    if (edge.from == edge.to) {
      throw RequestError("node " + std::to_string(edge.from) +
                         " is joined to itself: a graph has no self-loops (a node's own weight is what its "
                         "edges leave)");
    }
  }
}

}  // namespace

void Graph::check_size(double nodes, double edges) {
  if (nodes <= most_nodes && edges <= most_edges) return;
  throw RequestError("a graph of " + std::to_string(static_cast<long long>(nodes)) + " nodes and " +
                     std::to_string(static_cast<long long>(edges)) + " edges is too large");
}

Graph::Graph(int nodes, std::vector<Edge> edges, Kind kind)
    : nodes_(nodes), kind_(kind), edges_(std::move(edges)) {
  if (nodes < 2) {
    throw RequestError("a graph needs at least 2 nodes, not " + std::to_string(nodes));
  }
  check_size(nodes, static_cast<double>(edges_.size()));
  check_edges(nodes, edges_, kind);
  if (kind == Kind::undirected) {
    for (Edge& edge : edges_) {
      if (edge.from > edge.to) std::swap(edge.from, edge.to);
    }
  }
  std::sort(edges_.begin(), edges_.end());
  if (const auto twice = std::adjacent_find(edges_.begin(), edges_.end()); twice != edges_.end()) {
    throw RequestError("edge " + name_of(*twice, kind) + " is listed twice");
  }

  const auto count = static_cast<std::size_t>(nodes);
  starts_.assign(count + 1, 0);
  for (const Edge& edge : edges_) {
    ++starts_[static_cast<std::size_t>(edge.from) + 1];
    if (kind == Kind::undirected) ++starts_[static_cast<std::size_t>(edge.to) + 1];
  }
  for (std::size_t i = 0; i < count; ++i) starts_[i + 1] += starts_[i];
  targets_.resize(static_cast<std::size_t>(starts_[count]));
  std::vector<int> next(starts_.begin(), starts_.end() - 1);
  const auto add = [&](int from, int to) {
    targets_[static_cast<std::size_t>(next[static_cast<std::size_t>(from)]++)] = to;
  };
  // Smaller neighbours first, then larger ones: since edges are sorted, every list is sorted.
  if (kind == Kind::undirected) {
    for (const Edge& edge : edges_) add(edge.to, edge.from);
  }
  for (const Edge& edge : edges_) add(edge.from, edge.to);
}

std::span<const int> Graph::neighbors(int node) const {
  const auto i = static_cast<std::size_t>(node);
  return std::span<const int>(targets_).subspan(static_cast<std::size_t>(starts_[i]),
                                                static_cast<std::size_t>(starts_[i + 1] - starts_[i]));
}

Graph Graph::reversed() const {
  if (kind_ == Kind::undirected) return *this;
  std::vector<Edge> back;
  back.reserve(edges_.size());
  for (const Edge& edge : edges_) back.push_back({edge.to, edge.from});
  return Graph(nodes_, std::move(back), kind_);
}

std::vector<std::vector<int>> Graph::components() const {
  const Graph back = reversed();
  const auto count = static_cast<std::size_t>(nodes_);
  std::vector<char> taken(count, 0);
  // Marks every node reachable from `start` that is not yet in a component.
  const auto reach = [&](const Graph& graph, int start) {
    std::vector<char> seen(count, 0);
    std::vector<int> found{start};
    seen[static_cast<std::size_t>(start)] = 1;
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const int other : graph.neighbors(found[i])) {
        char& mark = seen[static_cast<std::size_t>(other)];
        if (mark || taken[static_cast<std::size_t>(other)]) continue;
        mark = 1;
        found.push_back(other);
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  std::vector<std::vector<int>> components;
  for (int node = 0; node < nodes_; ++node) {
    if (taken[static_cast<std::size_t>(node)]) continue;
    std::vector<int> component = reach(*this, node);
    if (kind_ == Kind::directed) {  // keep the nodes that also reach `start`
      const std::vector<int> from = reach(back, node);
      std::vector<int> both;
      std::set_intersection(component.begin(), component.end(), from.begin(), from.end(),
                            std::back_inserter(both));
      component = std::move(both);
    }
    for (const int member : component) taken[static_cast<std::size_t>(member)] = 1;
    components.push_back(std::move(component));
  }
  return components;
}

}  // namespace veche
