#pragma once

#include "veche/graph/topology.h"

namespace veche {

// The kinds of topologies. All are immutable.

std::shared_ptr<const Topology> static_topology(Graph graph, Weighing weighing, std::string name);

// Round k uses the weights number k mod count.
std::shared_ptr<const Topology> cyclic_topology(const std::vector<Graph>& graphs, std::vector<Mixing> rounds,
                                                std::string name);

// Every round draws a maximal matching of the graph, with edges taken in random order. Matched
// nodes take the mean of the two.
std::shared_ptr<const Topology> matching_topology(Graph graph, std::uint64_t seed, std::string name);

// The same topology with node labels and notices from its files.
std::shared_ptr<const Topology> labelled_topology(std::shared_ptr<const Topology> topology, FileNotes words);

// One random edge per round: the factor on the expected squared distance from the mean.
double pair_contraction(const Graph& graph);

}  // namespace veche
