#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "veche/settings.h"

namespace veche {

// Indices into the training set, one list per node. Every sample belongs to exactly one node.
using Partition = std::vector<std::vector<std::uint32_t>>;

// Inputs of some rules besides the number of samples.
struct PartitionHints {
  std::vector<double> speed = {};  // relative, by node; empty: all equal
  std::function<std::int64_t(std::size_t sample)> label = {};
  int classes = 0;
  // The node whose folder a sample came from; empty unless the data are divided into folders.
  std::function<std::size_t(std::size_t sample)> owner = {};
};

// The words of the rules, and what they give:
//   iid           random; sizes differ by at most one
//   proportional  random; sizes proportional to the nodes' speeds
//   sizes:[A,B]   random; this many samples per node, or fractions that add up to 1
//   contiguous    node after node, in the order of the samples; sizes differ by at most one
//   classes:K     K classes per node; a class is divided evenly among its nodes
//   dirichlet:A   fractions of each class drawn from the symmetric Dirichlet distribution
//   folders       each node gets its own folder
// Depends only on its arguments, so every node computes it independently. Throws RequestError if
// there are more nodes than samples, or if the rule cannot give every sample to a node and every
// node a sample.
Partition partition(std::size_t samples, int nodes, const DataDivision& how, std::uint64_t seed,
                    const PartitionHints& hints = {});

// The key data.partition. Reading throws RequestError with the nearest valid word.
DataDivision read_partition(std::string_view word);
std::string word_of(const DataDivision& how);
std::vector<std::string> partition_names();

// Number of steps until the largest shard has been seen once, with `batch` samples per step.
std::uint64_t steps_per_epoch(const Partition& partition, std::size_t batch);

}  // namespace veche
