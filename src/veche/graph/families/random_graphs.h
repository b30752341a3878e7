#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "veche/graph.h"

namespace veche {

// Random graphs. Equal arguments and seeds give equal graphs on every machine.

// Every node has `degree` neighbours. Nearly uniform among all such graphs. Connected whenever the
// degree allows it.
Graph regular_graph(int nodes, int degree, std::uint64_t seed);

// Joins each pair with this probability. The graph may be disconnected.
Graph erdos_renyi_graph(int nodes, double probability, std::uint64_t seed);

// Four neighbours per node (complete for up to five nodes) and a nearly maximal spectral gap: the
// best of several random regular graphs and circulants, improved by swapping ends of edges. Large
// graphs take a single draw.
Graph expander_graph(int nodes, std::uint64_t seed);

// Replaces edges a-b and c-d by a-d and c-b if `cross`, else by a-c and b-d. All degrees stay the
// same. Returns nullopt if that would create a loop or a duplicate.
std::optional<Graph> with_exchanged_ends(const Graph& graph, std::size_t first, std::size_t second,
                                         bool cross);

// The rho of the best constant weight, the objective of graph searches. 1 if the graph is not
// connected.
double constant_rho(const Graph& graph);

}  // namespace veche
