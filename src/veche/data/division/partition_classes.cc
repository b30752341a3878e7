// Rules that give nodes different classes, or different fractions of the classes.
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

template <class T>
bool reads(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

// The logarithm of a draw from the gamma distribution (Marsaglia and Tsang, 2000). For shapes below
// 1 the draw itself may underflow; its logarithm does not.
double log_gamma_draw(RandomStream& random, double shape) {
  const auto log_uniform = [&] { return std::log(1 - random.uniform()); };
  if (shape < 1) {
    const double larger = log_gamma_draw(random, shape + 1);
    return larger + log_uniform() / shape;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.normal();
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (log_uniform() < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

// The fractions of one class for each node, drawn from Dirichlet(alpha, ..., alpha).
std::vector<double> dirichlet_draw(RandomStream& random, double alpha, std::size_t nodes) {
  std::vector<double> parts(nodes);
  std::ranges::generate(parts, [&] { return log_gamma_draw(random, alpha); });
  const double largest = *std::ranges::max_element(parts);
  for (double& part : parts) part = std::exp(part - largest);
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  for (double& part : parts) part /= sum;
  return parts;
}

void check_has_classes(const PartitionTask& task, const char* rule) {
  if (task.hints.classes == 0)
    throw RequestError(
        fmt::format("data.partition = \"{}:{}\" divides classes, and the targets are none: choose "
                    "iid, contiguous, proportional, sizes:[..] or folders",
                    rule, task.argument));
}

std::vector<std::vector<std::uint32_t>> shuffled_classes(const PartitionTask& task) {
  std::vector<std::vector<std::uint32_t>> classes(static_cast<std::size_t>(task.hints.classes));
  for (const std::uint32_t sample : shuffled_samples(task))
    classes.at(static_cast<std::size_t>(task.hints.label(sample))).push_back(sample);
  return classes;
}

// A node may end up empty by chance or because a class is very small. It then gets one sample from
// the node with the most.
void fill_empty_shards(Partition& shards) {
  for (auto& shard : shards) {
    if (!shard.empty()) continue;
    auto& largest = *std::ranges::max_element(shards, {}, [](const auto& other) { return other.size(); });
    shard.push_back(largest.back());
    largest.pop_back();
  }
}

}  // namespace

Partition divide_by_classes(const PartitionTask& task) {
  check_has_classes(task, "classes");
  const auto classes = static_cast<std::size_t>(task.hints.classes);
  std::size_t each = 0;
  if (!reads(task.argument, each) || each < 1 || each > classes)
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
  fill_empty_shards(result);
  return result;
}

Partition divide_by_dirichlet(const PartitionTask& task) {
  double alpha = 0;
  constexpr double kLeast = 1e-3, kMost = 1e6;
  if (!reads(task.argument, alpha) || !(alpha >= kLeast && alpha <= kMost))
    throw RequestError(fmt::format(
        "data.partition = \"dirichlet:{}\" needs a number from {} to {}, such as dirichlet:0.5: the smaller, "
        "the more the nodes differ",
        task.argument, kLeast, kMost));
  check_has_classes(task, "dirichlet");
  Partition result(task.nodes);
  const auto classes = shuffled_classes(task);
  for (std::size_t label = 0; label < classes.size(); ++label) {
    RandomStream random(task.seed, "partition dirichlet", label);
    const std::vector<double> parts = dirichlet_draw(random, alpha, task.nodes);
    const auto count = static_cast<double>(classes[label].size());
    double sum = 0;
    std::size_t from = 0;
    for (std::size_t node = 0; node < task.nodes; ++node) {
      sum += parts[node];
      const std::size_t to = node + 1 == task.nodes ? classes[label].size()
                                                    : std::clamp(static_cast<std::size_t>(sum * count + 0.5),
                                                                 from, classes[label].size());
      result[node].insert(result[node].end(), classes[label].begin() + static_cast<std::ptrdiff_t>(from),
                          classes[label].begin() + static_cast<std::ptrdiff_t>(to));
      from = to;
    }
  }
  fill_empty_shards(result);
  return result;
}

}  // namespace veche
