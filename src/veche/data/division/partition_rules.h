#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "veche/data/division/partition.h"

namespace veche {

// The input of every rule: at least one sample per node.
struct PartitionTask {
  std::size_t samples;
  std::size_t nodes;
  std::uint64_t seed;
  std::string_view argument;  // text after the colon
  const PartitionHints& hints;
};

// All samples in a random order, from which the rules deal.
std::vector<std::uint32_t> shuffled_samples(const PartitionTask& task);

// One function per rule (see partition.h). Each gives every sample to exactly one node or throws
// RequestError.
Partition divide_iid(const PartitionTask& task);
Partition divide_proportional(const PartitionTask& task);
Partition divide_by_sizes(const PartitionTask& task);
Partition divide_contiguous(const PartitionTask& task);
Partition divide_by_classes(const PartitionTask& task);
Partition divide_by_dirichlet(const PartitionTask& task);
Partition divide_by_folders(const PartitionTask& task);

}  // namespace veche
