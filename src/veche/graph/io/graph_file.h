#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veche/graph.h"
#include "veche/topology.h"

namespace veche {

// A graph as stored in a file, not yet validated.
struct StoredGraph {
  struct Link {
    int from = 0;
    int to = 0;
    std::optional<double> weight;
  };
  int nodes = 0;
  bool directed = false;
  std::vector<Link> edges;
  std::vector<Link> weights;  // separate list of weights; an entry i,i,w is the self-weight of node i
  std::vector<std::string> labels = {};  // empty, or one per node; "" for unnamed nodes
  std::size_t merged = 0, loops = 0;     // number of parallel edges and self-loops removed by `tidy`
};

// The largest node number plus one, for files that do not give the number of nodes.
int nodes_named(const std::vector<StoredGraph::Link>& links);

// One reader per format. RequestError messages describe the problem; the caller adds the file name.
std::vector<StoredGraph> read_edge_list(const std::string& text);
std::vector<StoredGraph> read_json_graphs(const std::string& text);  // several graphs: one per round
std::vector<StoredGraph> read_graphml(const std::string& text);
std::vector<StoredGraph> read_dot(const std::string& text);
std::vector<StoredGraph> read_gml(const std::string& text);

// Reads a file in any of these formats, chosen by its extension or else by its first characters.
// The graphs are tidy.
std::vector<StoredGraph> read_graph_file(const std::filesystem::path& path);

// Merges parallel edges, drops self-loops and counts both. A weight listed in each direction is not
// a parallel edge, and a weighted self-loop is a self-weight. Parallel edges with different weights
// stay, since only `mixing_of` must refuse them.
void tidy(StoredGraph& stored);

// "the graph file 'x.gml': 2 parallel edges were merged and 1 self-loop was dropped"; empty if
// nothing changed.
std::string notice_of(const std::string& path, const std::vector<StoredGraph>& stored);

// A label for pictures and tables: one line of UTF-8. Other bytes are read as Latin-1.
std::string clean_label(std::string_view text);

// Throws RequestError for nodes out of range and, unless allowed, for directed edges.
Graph graph_of(const StoredGraph& stored, bool directed_allowed);

// The same; the error names the file.
Graph graph_in_file(const std::string& path, const StoredGraph& stored, bool directed_allowed);

// The weights of a file for the edges of a graph. An undirected edge may be listed once or in both
// directions. Self-weights may be omitted. Throws RequestError naming an edge without weight, or a
// weight without edge.
Mixing mixing_of(const StoredGraph& stored, const Graph& graph);

// The rule file:PATH.
Mixing read_weights(const std::string& path, const Graph& graph);

}  // namespace veche
