#include "veche/runtime/plan/node_speeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "veche/base/value_as.h"
#include "veche/errors.h"

namespace veche {
namespace {

constexpr double kMostUnequal = 1e6;

// One number for all nodes, or one per node; empty where the key is absent.
std::vector<std::uint64_t> read_frequencies(const std::optional<Value>& given, const char* key, int nodes) {
  if (!given) return {};
  std::vector<std::int64_t> numbers;
  if (const auto* one = std::get_if<std::int64_t>(&given->data)) {
    numbers.assign(static_cast<std::size_t>(nodes), *one);
  } else {
    try {
      numbers = value_as<std::vector<std::int64_t>>(*given, key);
    } catch (const std::logic_error&) {
      throw RequestError(fmt::format("cluster.{} must be a whole number, or a list with one a node", key));
    }
  }
  if (numbers.size() != static_cast<std::size_t>(nodes))
    throw RequestError(fmt::format("cluster.{} has {} numbers for {} nodes", key, numbers.size(), nodes));
  if (std::ranges::min(numbers) < 1) throw RequestError(fmt::format("cluster.{} must be at least 1", key));
  return {numbers.begin(), numbers.end()};
}

void check_count(const std::vector<double>& speed, int nodes) {
  if (!speed.empty() && speed.size() != static_cast<std::size_t>(nodes))
    throw RequestError(fmt::format("cluster.speed has {} numbers for {} nodes", speed.size(), nodes));
}

std::vector<double> slowness_of(const std::vector<double>& speed) {
  std::vector<double> slowness;
  for (const double one : speed) slowness.push_back(std::ranges::max(speed) / one);
  return slowness;
}

std::vector<std::uint64_t> steps_between(const std::vector<double>& speed) {
  const double fastest = std::ranges::max(speed);
  if (fastest / std::ranges::min(speed) > kMostUnequal)
    throw RequestError(
        fmt::format("cluster.speed makes one node more than {:.0f} times as fast as another", kMostUnequal));
  std::vector<std::uint64_t> every;
  for (const double one : speed) every.push_back(static_cast<std::uint64_t>(std::llround(fastest / one)));
  return every;
}

NodeSpeeds read_replica_speeds(const ClusterSettings& cluster, std::vector<double> speed, int replicas,
                               bool one_machine) {
  check_count(speed, replicas);
  NodeSpeeds speeds;
  speeds.speed = std::move(speed);
  speeds.train_every = read_frequencies(cluster.train_every, "train_every", replicas);
  speeds.mix_every = read_frequencies(cluster.mix_every, "mix_every", replicas);
  if (speeds.train_every.empty() && !speeds.speed.empty()) speeds.train_every = steps_between(speeds.speed);
  if (cluster.rest.value_or(one_machine)) speeds.slowness = slowness_of(speeds.speed);
  if (const std::vector<double>& stall = cluster.stall; !stall.empty()) {
    if (stall.size() != 2 || stall[0] < 0 || stall[0] > 1 || stall[1] < 0)
      throw RequestError("cluster.stall is a probability and a number of seconds, such as [0.01, 0.5]");
    speeds.stall_probability = stall[0];
    speeds.stall_seconds = stall[1];
  }
  return speeds;
}

}  // namespace

// Replicas have data and steps, as fast as their nodes together. Each node of a stage is slow by
// itself.
NodeSpeeds read_speeds(const Settings& settings, bool one_machine) {
  const ClusterSettings& cluster = settings.cluster;
  if (settings.stages() == 1)
    return read_replica_speeds(cluster, cluster.speed, settings.nodes(), one_machine);
  check_count(cluster.speed, settings.nodes());
  std::vector<double> sums;
  for (auto first = cluster.speed.begin(); first != cluster.speed.end(); first += settings.stages())
    sums.push_back(std::reduce(first, first + settings.stages()));
  NodeSpeeds speeds = read_replica_speeds(cluster, std::move(sums), settings.replicas(), one_machine);
  if (cluster.rest.value_or(one_machine)) speeds.slowness = slowness_of(cluster.speed);
  return speeds;
}

}  // namespace veche
