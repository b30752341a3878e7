#include "veche/data/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "veche/base/errors.h"
#include "veche/base/nearest.h"
#include "veche/base/random.h"

namespace veche {
namespace {

Partition iid(std::size_t samples, std::size_t nodes, std::uint64_t seed) {
  std::vector<std::uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0u);
  RandomStream(seed, "partition iid").shuffle(std::span(order));

  Partition result;
  auto from = order.begin();
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto size = static_cast<std::ptrdiff_t>(samples / nodes + (node < samples % nodes ? 1 : 0));
    result.emplace_back(from, from + size);
    from += size;
  }
  return result;
}

struct Rule {
  const char* name;
  Partition (*divide)(std::size_t samples, std::size_t nodes, std::uint64_t seed);
};
constexpr Rule kRules[] = {
    {"iid", iid},
};

}  // namespace

Partition partition(std::size_t samples, int nodes, std::string_view rule, std::uint64_t seed) {
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
  for (const Rule& known : kRules) {
    if (rule == known.name) return known.divide(samples, static_cast<std::size_t>(nodes), seed);
  }
  throw RequestError(
      fmt::format("data.partition '{}' is unknown{}", rule, suggestion(rule, partition_names())));
}

std::vector<std::string> partition_names() {
  std::vector<std::string> names;
  for (const Rule& rule : kRules) names.emplace_back(rule.name);
  return names;
}

std::uint64_t steps_per_epoch(const Partition& partition, std::size_t batch) {
  if (batch == 0) throw std::invalid_argument("a batch holds at least one sample");
  std::size_t largest = 0;
  for (const auto& shard : partition) largest = std::max(largest, shard.size());
  return (largest + batch - 1) / batch;
}

}  // namespace veche
