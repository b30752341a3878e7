#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace veche {

// Indices into the training set, one list a node. Every sample goes to exactly one node.
using Partition = std::vector<std::vector<std::uint32_t>>;

// What some rules go by besides the number of samples.
struct PartitionHints {
  std::vector<double> speed = {};  // relative, by node; empty: all equal
  std::function<std::int64_t(std::size_t sample)> label = {};
  int classes = 0;
  // The node whose folder a sample came from; none when the data are not divided into folders.
  std::function<std::size_t(std::size_t sample)> owner = {};
};

// `rule` is
//   iid           a random division, sizes differ by at most one
//   proportional  a random division, sizes in proportion to the nodes' speeds
//   sizes:[A,B]   a random division, so many samples a node; or parts of all that add up to 1
//   classes:K     K classes a node; a class is divided evenly among the nodes that have it
//   dirichlet:A   each class is divided by parts drawn from the symmetric Dirichlet distribution
//   folders       each node what its own folder has
// A function of its arguments alone, so that every node works it out for itself. Throws RequestError when
// there are more nodes than samples, the rule is unknown, or it cannot give every sample to a node and every
// node a sample.
Partition partition(std::size_t samples, int nodes, std::string_view rule, std::uint64_t seed,
                    const PartitionHints& hints = {});

std::vector<std::string> partition_names();

// How many steps it takes until the largest shard has been seen once, `batch` samples a step.
std::uint64_t steps_per_epoch(const Partition& partition, std::size_t batch);

}  // namespace veche
