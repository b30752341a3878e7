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

// Who may talk to whom. Nodes are 0..n-1. Undirected edges are kept once, smaller node first; directed ones
// as given. Immutable and valid: no self-loops, no duplicates, no nodes out of range (the constructor throws
// RequestError with one sentence).
class VECHE_API Graph {
 public:
  static constexpr int most_nodes = 20'000'000;
  static constexpr double most_edges = 1e8;
  // Throws RequestError for sizes that no memory holds; makers of graphs ask before they begin.
  static void check_size(double nodes, double edges);

  enum class Kind { undirected, directed };
  Graph(int nodes, std::vector<Edge> edges, Kind kind = Kind::undirected);

  int nodes() const { return nodes_; }
  Kind kind() const { return kind_; }
  std::span<const Edge> edges() const { return edges_; }  // sorted
  // Sorted. In a directed graph: those the node sends to.
  std::span<const int> neighbors(int node) const;
  int degree(int node) const { return static_cast<int>(neighbors(node).size()); }

  // Every edge turned round; an undirected graph is its own reverse.
  Graph reversed() const;

  // The node sets that cannot reach each other, each sorted, by smallest node. One set: the graph is
  // connected. In a directed graph the members of a set reach each other both ways.
  std::vector<std::vector<int>> components() const;

 private:
  int nodes_;
  Kind kind_;
  std::vector<Edge> edges_;
  std::vector<int> starts_;  // neighbours of node i are targets_[starts_[i]] .. targets_[starts_[i+1]]
  std::vector<int> targets_;
};

}  // namespace veche
