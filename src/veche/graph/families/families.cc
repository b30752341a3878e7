#include "veche/graph/families/families.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "veche/errors.h"

namespace veche {
namespace {

void need_nodes(int nodes, int least, const char* what) {
  if (nodes < least) {
    throw RequestError(std::string(what) + " needs at least " + std::to_string(least) + " nodes, not " +
                       std::to_string(nodes));
  }
}

int product(std::span<const int> sides) {
  double nodes = 1;
  for (const int side : sides) nodes *= side;
  Graph::check_size(nodes, nodes * static_cast<double>(sides.size()));
  return static_cast<int>(nodes);
}

// Joins neighbours along every side of a box. With `wrap`, the last node of a line is joined to the
// first.
Graph box(std::span<const int> sides, bool wrap) {
  const int nodes = product(sides);
  std::vector<Edge> edges;
  int stride = nodes;
  for (const int side : sides) {
    stride /= side;
    for (int node = 0; node < nodes; ++node) {
      const int place = node / stride % side;
      if (place + 1 < side) edges.push_back({node, node + stride});
      if (wrap && place == side - 1) edges.push_back({node, node - stride * (side - 1)});
    }
  }
  return Graph(nodes, std::move(edges));
}

}  // namespace

Graph ring_graph(int nodes) {
  if (nodes == 2) return path_graph(2);
  need_nodes(nodes, 2, "a ring");
  const int hops[] = {1};
  return circulant_graph(nodes, hops);
}

Graph path_graph(int nodes) {
  Graph::check_size(nodes, nodes);
  std::vector<Edge> edges;
  for (int i = 0; i + 1 < nodes; ++i) edges.push_back({i, i + 1});
  return Graph(nodes, std::move(edges));
}

Graph star_graph(int nodes) {
  Graph::check_size(nodes, nodes);
  std::vector<Edge> edges;
  for (int i = 1; i < nodes; ++i) edges.push_back({0, i});
  return Graph(nodes, std::move(edges));
}

Graph complete_graph(int nodes) {
  Graph::check_size(nodes, 0.5 * nodes * nodes);
  std::vector<Edge> edges;
  for (int i = 0; i < nodes; ++i) {
    for (int j = i + 1; j < nodes; ++j) edges.push_back({i, j});
  }
  return Graph(nodes, std::move(edges));
}

Graph torus_graph(std::span<const int> sides) {
  for (const int side : sides) {
    if (side < 3) {
      throw RequestError(
          "a torus needs sides of at least 3, not " + std::to_string(side) +
          ": on a shorter side going round would use the same edge twice; use a grid or a ring");
    }
  }
  return box(sides, true);
}

Graph grid_graph(std::span<const int> sides) {
  for (const int side : sides) {
    if (side < 1) throw RequestError("a grid needs sides of at least 1, not " + std::to_string(side));
  }
  return box(sides, false);
}

Graph hypercube_graph(int dimension) {
  if (dimension < 1 || dimension > 24) {
    throw RequestError("a hypercube has a dimension of 1 to 24, not " + std::to_string(dimension));
  }
  const int nodes = 1 << dimension;
  Graph::check_size(nodes, 0.5 * nodes * dimension);
  std::vector<Edge> edges;
  for (int i = 0; i < nodes; ++i) {
    for (int bit = 0; bit < dimension; ++bit) {
      if ((i >> bit & 1) == 0) edges.push_back({i, i | 1 << bit});
    }
  }
  return Graph(nodes, std::move(edges));
}

Graph tree_graph(int nodes, int fanout) {
  Graph::check_size(nodes, nodes);
  if (fanout < 1) throw RequestError("a tree needs a fanout of at least 1, not " + std::to_string(fanout));
  std::vector<Edge> edges;
  for (int i = 1; i < nodes; ++i) edges.push_back({(i - 1) / fanout, i});
  return Graph(nodes, std::move(edges));
}

Graph circulant_graph(int nodes, std::span<const int> hops) {
  Graph::check_size(nodes, static_cast<double>(nodes) * static_cast<double>(hops.size()));
  std::vector<Edge> edges;
  for (const int hop : hops) {
    // A hop of half the ring gives each edge twice: half as many edges.
    const int count = 2 * hop == nodes ? hop : nodes;
    for (int i = 0; i < count; ++i) edges.push_back({i, (i + hop) % nodes});
  }
  return Graph(nodes, std::move(edges));
}

Graph chords_graph(int nodes, int chords) {
  need_nodes(nodes, 4, "a ring with chords");
  if (chords < 1 || chords > nodes - 3) {
    throw RequestError("on a ring of " + std::to_string(nodes) + " nodes each can have 1 to " +
                       std::to_string(nodes - 3) + " chords, not " + std::to_string(chords));
  }
  if (chords % 2 != 0 && nodes % 2 != 0) {
    throw RequestError(
        "an odd number of chords per node needs an even number of nodes: every chord has two ends");
  }
  // Each length gives a node two chords, except half the ring, which gives one.
  std::vector<int> hops{1};
  const int lengths = chords / 2;
  for (int k = 1; k <= lengths; ++k) {
    const double even = 1 + k * (nodes / 2.0 - 1) / (lengths + 1);
    hops.push_back(std::max(hops.back() + 1, static_cast<int>(std::lround(even))));
  }
  if (chords % 2 != 0) hops.push_back(nodes / 2);
  return circulant_graph(nodes, hops);
}

Graph exponential_graph(int nodes) {
  Graph::check_size(nodes, nodes * std::log2(std::max(nodes, 2)));
  std::vector<Edge> edges;
  for (int hop = 1; hop < nodes; hop *= 2) {
    for (int i = 0; i < nodes; ++i) edges.push_back({i, (i + hop) % nodes});
  }
  return Graph(nodes, std::move(edges), Graph::Kind::directed);
}

}  // namespace veche
