#include "veche/data/division/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "veche/base/text/nearest.h"
#include "veche/data/division/partition_rules.h"
#include "veche/errors.h"

namespace veche {
namespace {

struct PartitionRule {
  const char* name;
  const char* argument;  // description of the argument after the colon; null: no argument
  Partition (*divide)(const PartitionTask& task);
};
constexpr PartitionRule kRules[] = {
    {"iid", nullptr, divide_iid},
    {"proportional", nullptr, divide_proportional},
    {"sizes", "[..]", divide_by_sizes},
    {"contiguous", nullptr, divide_contiguous},
    {"dirichlet", "ALPHA", divide_by_dirichlet},
    {"classes", "K", divide_by_classes},
    {"folders", nullptr, divide_by_folders},
};

}  // namespace

Partition partition(std::size_t samples, int nodes, std::string_view rule, std::uint64_t seed,
                    const PartitionHints& hints) {
  if (nodes < 1) throw RequestError(fmt::format("cluster.nodes is {} and must be at least 1", nodes));
  if (samples < static_cast<std::size_t>(nodes)) {
    throw RequestError(
        fmt::format("{} samples cannot be divided among {} nodes: every node needs at least one; lower "
                    "cluster.nodes or take more data",
                    samples, nodes));
  }
  if (samples - 1 > std::numeric_limits<std::uint32_t>::max()) {
    throw RequestError(fmt::format("{} samples are more than the 2^32 that can be divided", samples));
  }
  const std::size_t colon = rule.find(':');
  for (const PartitionRule& known : kRules) {
    const bool has_argument = colon != std::string_view::npos;
    if (rule.substr(0, colon) != known.name || has_argument != (known.argument != nullptr)) continue;
    const std::string_view argument = has_argument ? rule.substr(colon + 1) : "";
    return known.divide({samples, static_cast<std::size_t>(nodes), seed, argument, hints});
  }
  throw RequestError(
      fmt::format("data.partition '{}' is unknown{}", rule, suggestion(rule, partition_names())));
}

std::vector<std::string> partition_names() {
  std::vector<std::string> names;
  for (const PartitionRule& rule : kRules)
    names.push_back(rule.argument == nullptr ? rule.name : fmt::format("{}:{}", rule.name, rule.argument));
  return names;
}

std::uint64_t steps_per_epoch(const Partition& partition, std::size_t batch) {
  if (batch == 0) throw std::invalid_argument("a batch holds at least one sample");
  std::size_t largest = 0;
  for (const auto& shard : partition) largest = std::max(largest, shard.size());
  return (largest + batch - 1) / batch;
}

}  // namespace veche
