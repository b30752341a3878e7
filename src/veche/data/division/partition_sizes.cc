// Rules that fix the number of samples per node; the samples themselves are random.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "veche/data/division/partition_rules.h"
#include "veche/errors.h"
#include "veche/random.h"

namespace veche {
namespace {

// Cuts an order of the samples at `ends`, one piece per node.
Partition cut(const std::vector<std::uint32_t>& order, const std::vector<std::size_t>& ends) {
  Partition result;
  auto from = order.begin();
  for (const std::size_t end : ends) {
    const auto to = order.begin() + static_cast<std::ptrdiff_t>(end);
    result.emplace_back(from, to);
    from = to;
  }
  return result;
}

// Cuts with sizes that differ by at most one.
std::vector<std::size_t> equal_ends(const PartitionTask& task) {
  std::vector<std::size_t> ends;
  for (std::size_t node = 0, end = 0; node < task.nodes; ++node)
    ends.push_back(end += task.samples / task.nodes + (node < task.samples % task.nodes ? 1 : 0));
  return ends;
}

// Cuts with sizes proportional to `weights`, at least one sample per node.
std::vector<std::size_t> ends_by_weight(const PartitionTask& task, const std::vector<double>& weights) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::size_t> ends;
  double sum = 0;
  std::size_t from = 0;
  for (std::size_t node = 0; node < task.nodes; ++node) {
    sum += weights.at(node);
    const auto wanted = static_cast<std::size_t>(sum / all * static_cast<double>(task.samples) + 0.5);
    from = std::clamp(wanted, from + 1, task.samples - (task.nodes - node - 1));
    ends.push_back(from);
  }
  return ends;
}

std::vector<double> read_numbers(std::string_view argument) {
  std::string_view list = argument;
  if (list.starts_with('[') && list.ends_with(']')) list = list.substr(1, list.size() - 2);
  std::vector<double> numbers;
  for (const char* at = list.data(); at != list.data() + list.size();) {
    if (*at == ' ' || (*at == ',' && !numbers.empty())) {
      ++at;
      continue;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(at, list.data() + list.size(), value);
    if (error != std::errc() || !(value > 0) || !std::isfinite(value))
      throw RequestError(
          fmt::format("data.partition = \"sizes:{}\" needs a number above 0 for each node, such as "
                      "sizes:[30000,20000,10000] or sizes:[0.5,0.3,0.2]",
                      argument));
    numbers.push_back(value);
    at = end;
  }
  return numbers;
}

}  // namespace

std::vector<std::uint32_t> shuffled_samples(const PartitionTask& task) {
  std::vector<std::uint32_t> order(task.samples);
  std::iota(order.begin(), order.end(), 0u);
  RandomStream(task.seed, "partition iid").shuffle(std::span(order));
  return order;
}

Partition divide_iid(const PartitionTask& task) { return cut(shuffled_samples(task), equal_ends(task)); }

Partition divide_contiguous(const PartitionTask& task) {
  std::vector<std::uint32_t> order(task.samples);
  std::iota(order.begin(), order.end(), 0u);
  return cut(order, equal_ends(task));
}

Partition divide_proportional(const PartitionTask& task) {
  if (task.hints.speed.empty()) return divide_iid(task);
  return cut(shuffled_samples(task), ends_by_weight(task, task.hints.speed));
}

Partition divide_by_sizes(const PartitionTask& task) {
  const std::vector<double> sizes = read_numbers(task.argument);
  if (sizes.size() != task.nodes)
    throw RequestError(fmt::format("data.partition = \"sizes:{}\" has {} sizes for {} nodes with data",
                                   task.argument, sizes.size(), task.nodes));
  const double sum = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  if (std::abs(sum - 1) < 1e-6) return cut(shuffled_samples(task), ends_by_weight(task, sizes));
  if (sum != static_cast<double>(task.samples) ||
      std::ranges::any_of(sizes, [](double size) { return size != std::floor(size); }))
    throw RequestError(
        fmt::format("data.partition = \"sizes:{}\" adds up to {} and there are {} samples; give whole "
                    "numbers that add up to that, or parts that add up to 1",
                    task.argument, sum, task.samples));
  std::vector<std::size_t> ends;
  for (std::size_t end = 0; const double size : sizes) ends.push_back(end += static_cast<std::size_t>(size));
  return cut(shuffled_samples(task), ends);
}

// In the order of the set: the owner is fixed, and shuffling comes later.
Partition divide_by_folders(const PartitionTask& task) {
  if (!task.hints.owner)
    throw RequestError(
        "data.partition = \"folders\" needs data.path: a list of one path a node, or a folder with one "
        "folder a node");
  Partition result(task.nodes);
  for (std::size_t sample = 0; sample < task.samples; ++sample)
    result.at(task.hints.owner(sample)).push_back(static_cast<std::uint32_t>(sample));
  return result;
}

}  // namespace veche
