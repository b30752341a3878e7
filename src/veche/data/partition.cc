#include "veche/data/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "veche/base/errors.h"
#include "veche/base/nearest.h"
#include "veche/base/random.h"

namespace veche {
namespace {

struct Task {
  std::size_t samples;
  std::size_t nodes;
  std::uint64_t seed;
  std::string_view argument;  // behind the colon
  const PartitionHints& hints;
};

std::vector<std::uint32_t> shuffled_samples(const Task& task) {
  std::vector<std::uint32_t> order(task.samples);
  std::iota(order.begin(), order.end(), 0u);
  RandomStream(task.seed, "partition iid").shuffle(std::span(order));
  return order;
}

Partition iid(const Task& task) {
  const std::vector<std::uint32_t> order = shuffled_samples(task);
  Partition result;
  auto from = order.begin();
  for (std::size_t node = 0; node < task.nodes; ++node) {
    const auto size =
        static_cast<std::ptrdiff_t>(task.samples / task.nodes + (node < task.samples % task.nodes ? 1 : 0));
    result.emplace_back(from, from + size);
    from += size;
  }
  return result;
}

Partition proportional(const Task& task) {
  if (task.hints.speed.empty()) return iid(task);
  const std::vector<std::uint32_t> order = shuffled_samples(task);
  const double all = std::accumulate(task.hints.speed.begin(), task.hints.speed.end(), 0.0);
  Partition result;
  double sum = 0;
  std::size_t from = 0;
  for (std::size_t node = 0; node < task.nodes; ++node) {
    sum += task.hints.speed.at(node);
    // At least one sample for everybody, and one left for each that is still to come.
    const auto wanted = static_cast<std::size_t>(sum / all * static_cast<double>(task.samples) + 0.5);
    const std::size_t to = std::clamp(wanted, from + 1, task.samples - (task.nodes - node - 1));
    result.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(from),
                        order.begin() + static_cast<std::ptrdiff_t>(to));
    from = to;
  }
  return result;
}

Partition by_classes(const Task& task) {
  const auto classes = static_cast<std::size_t>(task.hints.classes);
  std::size_t each = 0;
  const auto [end, error] =
      std::from_chars(task.argument.data(), task.argument.data() + task.argument.size(), each);
  if (error != std::errc() || end != task.argument.data() + task.argument.size() || each < 1 ||
      each > classes)
    throw RequestError(
        fmt::format("data.partition = \"classes:{}\" must name 1 to {} classes a node, such as classes:2",
                    task.argument, classes));
  if (each * task.nodes < classes)
    throw RequestError(fmt::format(
        "data.partition = \"classes:{}\" leaves classes without a node: {} nodes with {} each are "
        "fewer than {} classes",
        each, task.nodes, each, classes));
  std::vector<std::vector<std::size_t>> holders(classes);
  for (std::size_t node = 0; node < task.nodes; ++node)
    for (std::size_t k = 0; k < each; ++k) holders[(node * each + k) % classes].push_back(node);
  Partition result(task.nodes);
  std::vector<std::size_t> next(classes);
  for (const std::uint32_t sample : shuffled_samples(task)) {
    const auto label = static_cast<std::size_t>(task.hints.label(sample));
    result[holders[label][next[label]++ % holders[label].size()]].push_back(sample);
  }
  return result;
}

struct Rule {
  const char* name;
  bool takes_argument;
  Partition (*divide)(const Task& task);
};
constexpr Rule kRules[] = {
    {"iid", false, iid},
    {"proportional", false, proportional},
    {"classes", true, by_classes},
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
  for (const Rule& known : kRules) {
    if (rule.substr(0, colon) != known.name || (colon != std::string_view::npos) != known.takes_argument)
      continue;
    const std::string_view argument = known.takes_argument ? rule.substr(colon + 1) : "";
    return known.divide({samples, static_cast<std::size_t>(nodes), seed, argument, hints});
  }
  throw RequestError(
      fmt::format("data.partition '{}' is unknown{}", rule, suggestion(rule, partition_names())));
}

std::vector<std::string> partition_names() {
  std::vector<std::string> names;
  for (const Rule& rule : kRules) names.push_back(std::string(rule.name) + (rule.takes_argument ? ":K" : ""));
  return names;
}

std::uint64_t steps_per_epoch(const Partition& partition, std::size_t batch) {
  if (batch == 0) throw std::invalid_argument("a batch holds at least one sample");
  std::size_t largest = 0;
  for (const auto& shard : partition) largest = std::max(largest, shard.size());
  return (largest + batch - 1) / batch;
}

}  // namespace veche
