#pragma once

#include <cstdint>
#include <span>

#include "veche/graph.h"

namespace veche {

// The named families of graphs. All functions throw RequestError if no such graph exists for the
// given sizes.
Graph ring_graph(int nodes);  // two nodes: one edge
Graph path_graph(int nodes);
Graph star_graph(int nodes);  // node 0 is the centre
Graph complete_graph(int nodes);
Graph torus_graph(
    std::span<const int> sides);  // any number of sides, each at least 3; the last varies fastest
Graph grid_graph(std::span<const int> sides);
Graph hypercube_graph(int dimension);
Graph tree_graph(int nodes, int fanout);  // breadth first: the children of i are i*fanout+1 ...
// Each node is joined to the nodes at these distances on a ring.
Graph circulant_graph(int nodes, std::span<const int> hops);
// A ring where every node has `chords` additional edges of evenly spread lengths.
Graph chords_graph(int nodes, int chords);
// Directed: node i sends to i+1, i+2, i+4 ... (mod n).
Graph exponential_graph(int nodes);

}  // namespace veche
