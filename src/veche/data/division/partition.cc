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

struct RuleLine {
  PartitionRule rule;
  const char* name;
  const char* argument;  // description of the argument after the colon; null: no argument
  Partition (*divide)(const PartitionTask& task);
};
constexpr RuleLine kRules[] = {
    {PartitionRule::iid, "iid", nullptr, divide_iid},
    {PartitionRule::proportional, "proportional", nullptr, divide_proportional},
    {PartitionRule::sizes, "sizes", "[..]", divide_by_sizes},
    {PartitionRule::contiguous, "contiguous", nullptr, divide_contiguous},
    {PartitionRule::dirichlet, "dirichlet", "ALPHA", divide_by_dirichlet},
    {PartitionRule::classes, "classes", "K", divide_by_classes},
    {PartitionRule::folders, "folders", nullptr, divide_by_folders},
};

const RuleLine& line_of(PartitionRule rule) { return *std::ranges::find(kRules, rule, &RuleLine::rule); }

}  // namespace

Partition partition(std::size_t samples, int nodes, const DataDivision& how, std::uint64_t seed,
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
  return line_of(how.rule).divide({samples, static_cast<std::size_t>(nodes), seed, how.argument, hints});
}

DataDivision read_partition(std::string_view word) {
  const std::size_t colon = word.find(':');
  const bool has_argument = colon != std::string_view::npos;
  for (const RuleLine& known : kRules)
    if (word.substr(0, colon) == known.name && has_argument == (known.argument != nullptr))
      return {known.rule, std::string(has_argument ? word.substr(colon + 1) : "")};
  throw RequestError(
      fmt::format("data.partition '{}' is unknown{}", word, suggestion(word, partition_names())));
}

std::string word_of(const DataDivision& how) {
  const RuleLine& line = line_of(how.rule);
  return line.argument == nullptr ? line.name : fmt::format("{}:{}", line.name, how.argument);
}

std::vector<std::string> partition_names() {
  std::vector<std::string> names;
  for (const RuleLine& line : kRules)
    names.push_back(line.argument == nullptr ? line.name : fmt::format("{}:{}", line.name, line.argument));
  return names;
}

std::uint64_t steps_per_epoch(const Partition& partition, std::size_t batch) {
  if (batch == 0) throw std::invalid_argument("a batch holds at least one sample");
  std::size_t largest = 0;
  for (const auto& shard : partition) largest = std::max(largest, shard.size());
  return (largest + batch - 1) / batch;
}

}  // namespace veche
