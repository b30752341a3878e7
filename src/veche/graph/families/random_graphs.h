#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "veche/graph.h"

namespace veche {

// Graphs drawn at random: the same for the same numbers and seed, on every machine.

// Every node has `degree` neighbours, drawn from all such graphs nearly evenly; connected whenever the degree
// allows it.
Graph regular_graph(int nodes, int degree, std::uint64_t seed);

// Each pair is joined with this probability. It may come out disconnected.
Graph erdos_renyi_graph(int nodes, double probability, std::uint64_t seed);

// Four neighbours each (all of them when there are five nodes or fewer) and a spectral gap near the largest
// possible: the best of several random regular graphs and circulants, improved by exchanging ends of edges;
// one draw is enough where graphs are large.
Graph expander_graph(int nodes, std::uint64_t seed);

// Two edges a-b and c-d become a-d and c-b when `cross`, else a-c and b-d: every node keeps its degree.
// Nothing when a loop or double would come of it.
std::optional<Graph> with_exchanged_ends(const Graph& graph, std::size_t first, std::size_t second,
                                         bool cross);

// The rho of the best constant weight: what searches for good graphs go by. 1 when the graph is not
// connected.
double constant_rho(const Graph& graph);

}  // namespace veche
