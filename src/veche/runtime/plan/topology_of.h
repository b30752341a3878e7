#pragma once

#include <memory>

#include "veche/config.h"
#include "veche/topology.h"

namespace veche {

// The graph of [topology] between the replicas of a run. Null where the strategy uses none, or
// where its nodes form one group. Throws RequestError for a graph or weights that cannot be made.
std::shared_ptr<const Topology> build_topology(const Settings& settings);
// The same in a view of a run whose members come and go: a complete graph where the family has no
// graph of this size.
std::shared_ptr<const Topology> build_topology_of_view(const Settings& settings);

// Whether topology.graph fixes the number of nodes.
bool has_a_count(const Settings& settings);
// The graph of the family for a few nodes; throws RequestError for a family that does not exist,
// whatever the number of nodes.
std::shared_ptr<const Topology> check_family(Settings settings);

}  // namespace veche
