#pragma once

#include <cstdint>

#include "veche/graph/drawing/picture.h"
#include "veche/graph/topology.h"

namespace veche {

// One period, or a sample of rounds that are drawn for ever.
std::uint64_t sampled_rounds(const Topology& topology);

// The mean over rounds that differ, for pictures.
Mixing mean_mixing(const Topology& topology);

// The picture of the topology that was built from `request`. Throws RequestError above 2,000 nodes.
Picture picture_of(const Topology& topology, const TopologyRequest& request);

}  // namespace veche
