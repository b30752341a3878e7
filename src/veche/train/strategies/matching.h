#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veche/graph.h"
#include "veche/random.h"

namespace veche {

// Up to `most` edges that share no node, drawn at random: the same on every node that draws from
// the same stream.
std::vector<Edge> draw_matching(RandomStream& random, std::span<const Edge> edges, std::int64_t most,
                                std::size_t nodes);

}  // namespace veche
