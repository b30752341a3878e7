#pragma once

#include "veche/graph/topology.h"

namespace veche {

// The kinds of topologies. All are immutable.

std::shared_ptr<const Topology> static_topology(Graph graph, Weighing weighing, std::string name);

// Round k uses the weights k mod their number.
std::shared_ptr<const Topology> cyclic_topology(const std::vector<Graph>& graphs, std::vector<Mixing> rounds,
                                                std::string name);

// Every round draws a matching of the graph, as large as it gets when edges are taken in random order;
// matched nodes take the mean of the two.
std::shared_ptr<const Topology> matching_topology(Graph graph, std::uint64_t seed, std::string name);

// The same topology, with what its files call the nodes and what was mended in them.
std::shared_ptr<const Topology> labelled_topology(std::shared_ptr<const Topology> topology, FileWords words);

// One random edge at a time: what the expected squared distance from the mean is multiplied by.
double pair_contraction(const Graph& graph);

}  // namespace veche
