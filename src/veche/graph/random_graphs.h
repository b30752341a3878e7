#pragma once

#include <cstdint>

#include "veche/graph/graph.h"

namespace veche {

// Graphs drawn at random: the same for the same numbers and seed, on every machine.

// Every node has `degree` neighbours, drawn from all such graphs nearly evenly; connected whenever the degree
// allows it.
Graph regular_graph(int nodes, int degree, std::uint64_t seed);

// Each pair is joined with this probability. It may come out disconnected.
Graph erdos_renyi_graph(int nodes, double probability, std::uint64_t seed);

// Four neighbours each (all of them when there are five nodes or fewer) and a spectral gap near the largest
// possible: the best of several random regular graphs and circulants; one draw is enough where graphs are
// large.
Graph expander_graph(int nodes, std::uint64_t seed);

}  // namespace veche
