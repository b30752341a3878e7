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
  std::vector<std::string> labels = {};  // empty, or one a node; "" where the file does not name the node
  std::size_t merged = 0, loops = 0;     // parallel edges and self-loops that `tidy` took out
};

// One more than the largest number among the ends, for files that do not say how many nodes there are.
int nodes_named(const std::vector<StoredGraph::Link>& links);

// One reader per format. They throw RequestError in the words "<what is wrong>", to which the caller adds the
// file.
std::vector<StoredGraph> read_edge_list(const std::string& text);
std::vector<StoredGraph> read_json_graphs(const std::string& text);  // several: one a round
std::vector<StoredGraph> read_graphml(const std::string& text);
std::vector<StoredGraph> read_dot(const std::string& text);
std::vector<StoredGraph> read_gml(const std::string& text);

// Reads a file of any of these kinds: the one its name claims, else the one its beginning looks like. The
// graphs are tidy.
std::vector<StoredGraph> read_graph_file(const std::filesystem::path& path);

// What every format has in common: parallel edges become one, self-loops go, and both are counted. A weight
// listed once in each direction is not a parallel edge, and a self-loop with a weight is what the node keeps.
// Parallel edges of different weights stay in the list, since only `mixing_of` needs to refuse them.
void tidy(StoredGraph& stored);

// "the graph file 'x.gml': 2 parallel edges were merged and 1 self-loop was dropped"; empty: nothing was.
std::string notice_of(const std::string& path, const std::vector<StoredGraph>& stored);

// A label as pictures and tables can show it: UTF-8 (other bytes are read as Latin-1), on one line.
std::string clean_label(std::string_view text);

// Throws RequestError for nodes out of range and, unless they are allowed, one-way edges.
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
