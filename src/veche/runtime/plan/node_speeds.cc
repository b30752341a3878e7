#include "veche/runtime/plan/node_speeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/errors.h"

namespace veche {
namespace {

constexpr double kMostUnequal = 1e6;

std::vector<std::uint64_t> frequencies(const Options& cluster, const char* key, int nodes) {
  if (!cluster.has(key)) return {};
  std::vector<std::int64_t> numbers;
  if (std::holds_alternative<std::int64_t>(cluster.at(key).data)) {
    numbers.assign(static_cast<std::size_t>(nodes), cluster.get<std::int64_t>(key));
  } else {
    try {
      numbers = cluster.get<std::vector<std::int64_t>>(key);
    } catch (const std::logic_error&) {
      throw RequestError(fmt::format("cluster.{} must be a whole number, or a list with one a node", key));
    }
  }
  if (numbers.size() != static_cast<std::size_t>(nodes))
    throw RequestError(fmt::format("cluster.{} has {} numbers for {} nodes", key, numbers.size(), nodes));
  if (std::ranges::min(numbers) < 1) throw RequestError(fmt::format("cluster.{} must be at least 1", key));
  return {numbers.begin(), numbers.end()};
}

}  // namespace

NodeSpeeds read_node_speeds(const Options& cluster, int nodes, bool one_machine) {
  NodeSpeeds speeds;
  speeds.speed = cluster.get<std::vector<double>>("speed", {});
  if (!speeds.speed.empty() && speeds.speed.size() != static_cast<std::size_t>(nodes))
    throw RequestError(fmt::format("cluster.speed has {} numbers for {} nodes", speeds.speed.size(), nodes));
  speeds.train_every = frequencies(cluster, "train_every", nodes);
  speeds.mix_every = frequencies(cluster, "mix_every", nodes);
  if (speeds.train_every.empty() && !speeds.speed.empty()) {
    const double fastest = std::ranges::max(speeds.speed);
    if (fastest / std::ranges::min(speeds.speed) > kMostUnequal)
      throw RequestError(fmt::format(
          "cluster.speed makes one node more than {:.0f} times as quick as another", kMostUnequal));
    for (const double speed : speeds.speed)
      speeds.train_every.push_back(static_cast<std::uint64_t>(std::llround(fastest / speed)));
  }
  if (!speeds.speed.empty() && cluster.get<bool>("rest", one_machine))
    for (const double speed : speeds.speed) speeds.slowness.push_back(std::ranges::max(speeds.speed) / speed);
  if (const auto stall = cluster.get<std::vector<double>>("stall", {}); !stall.empty()) {
    if (stall.size() != 2 || stall[0] < 0 || stall[0] > 1 || stall[1] < 0)
      throw RequestError("cluster.stall is a probability and a number of seconds, such as [0.01, 0.5]");
    speeds.stall_probability = stall[0];
    speeds.stall_seconds = stall[1];
  }
  return speeds;
}

}  // namespace veche
