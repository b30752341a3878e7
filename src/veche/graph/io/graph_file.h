#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veche/graph.h"
#include "veche/graph/weights/mixing.h"

namespace veche {

// A graph as a file has it, not yet judged.
struct StoredGraph {
  struct Link {
    int from = 0;
    int to = 0;
    std::optional<double> weight;
  };
  int nodes = 0;
  bool directed = false;
  std::vector<Link> edges;
  std::vector<Link> weights;  // a list of weights apart from the edges; may hold i,i,w: what node i keeps
};

// One more than the largest number among the ends, for files that do not say how many nodes there are.
int nodes_named(const std::vector<StoredGraph::Link>& links);

// One reader per format. They throw RequestError in the words "<what is wrong>", to which the caller adds the
// file.
std::vector<StoredGraph> read_edge_list(const std::string& text);
std::vector<StoredGraph> read_json_graphs(const std::string& text);  // several: one a round
std::vector<StoredGraph> read_graphml(const std::string& text);
std::vector<StoredGraph> read_dot(const std::string& text);

// Reads a file of any of these kinds: the one its name claims, else the one its beginning looks like.
std::vector<StoredGraph> read_graph_file(const std::filesystem::path& path);

// Throws RequestError for self-loops, doubles, nodes out of range and, unless they are allowed, one-way
// edges.
Graph graph_of(const StoredGraph& stored, bool directed_allowed);

// The same, with the file named in what is thrown.
Graph graph_in_file(const std::string& path, const StoredGraph& stored, bool directed_allowed);

// The weights of a file for the edges of a graph. An undirected edge may be listed once or both ways; what a
// node keeps may be listed or left out. Throws RequestError naming the edge that has no weight or that the
// graph has not.
Mixing mixing_of(const StoredGraph& stored, const Graph& graph);

// The rule file:PATH.
Mixing read_weights(const std::string& path, const Graph& graph);

}  // namespace veche
