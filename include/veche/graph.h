#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "veche/export.h"

namespace veche {

struct Edge {
  int from = 0;
  int to = 0;
  auto operator<=>(const Edge&) const = default;
};

// A communication graph: an edge means that two nodes may exchange messages. Nodes are 0..n-1. An
// undirected edge is stored once, smaller node first; a directed edge is stored as given. Immutable
// and valid: no self-loops, no duplicates, no node out of range. The constructor throws
// RequestError otherwise.
class VECHE_API Graph {
 public:
  static constexpr int most_nodes = 20'000'000;
  static constexpr double most_edges = 1e8;
  // Throws RequestError if a graph of this size does not fit in memory. Graph generators call it
  // before they start.
  static void check_size(double nodes, double edges);

  enum class Kind { undirected, directed };
  Graph(int nodes, std::vector<Edge> edges, Kind kind = Kind::undirected);

  int nodes() const { return nodes_; }
  Kind kind() const { return kind_; }
  std::span<const Edge> edges() const { return edges_; }  // sorted
  // Sorted. In a directed graph: the nodes that this node sends to.
  std::span<const int> neighbors(int node) const;
  int degree(int node) const { return static_cast<int>(neighbors(node).size()); }

  // The graph with every edge reversed. An undirected graph is its own reverse.
  Graph reversed() const;

  // Connected components, each sorted, ordered by smallest node. In a directed graph: strongly
  // connected components. One component means that the graph is connected.
  std::vector<std::vector<int>> components() const;

 private:
  int nodes_;
  Kind kind_;
  std::vector<Edge> edges_;
  std::vector<int> starts_;  // neighbours of node i are targets_[starts_[i]] .. targets_[starts_[i+1]]
  std::vector<int> targets_;
};

}  // namespace veche
