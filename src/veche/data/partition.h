#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace veche {

// Indices into the training set, one list a node. Every sample goes to exactly one node.
using Partition = std::vector<std::vector<std::uint32_t>>;

// `rule` is "iid": a random division, sizes differ by at most one. A function of its arguments alone, so that
// every node works it out for itself. Throws RequestError when there are more nodes than samples or the rule
// is unknown.
Partition partition(std::size_t samples, int nodes, std::string_view rule, std::uint64_t seed);

std::vector<std::string> partition_names();

// How many steps it takes until the largest shard has been seen once, `batch` samples a step.
std::uint64_t steps_per_epoch(const Partition& partition, std::size_t batch);

}  // namespace veche
