#include "veche/runtime/config/network_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "veche/base/text/nearest.h"
#include "veche/errors.h"
#include "veche/runtime/config/config_keys.h"
#include "veche/runtime/config/quantity.h"

namespace veche {
namespace {

constexpr int kMostInFull = 1000;  // nodes: there is a link for every two

const Value* find(const Value::Table& table, const std::string& key) {
  const auto found = table.find(key);
  return found == table.end() ? nullptr : &found->second;
}

std::vector<const Value::Table*> tables_of(const Value& value) {
  std::vector<const Value::Table*> tables;
  if (const auto* one = std::get_if<Value::Table>(&value.data)) return {one};
  for (const Value& item : std::get<Value::List>(value.data))
    tables.push_back(&std::get<Value::Table>(item.data));
  return tables;
}

void check_keys(const std::string& where, const Value::Table& table, const std::vector<std::string>& known) {
  for (const auto& [key, value] : table)
    if (std::ranges::find(known, key) == known.end())
      throw RequestError(fmt::format("there is no key {}.{}{}", where, key, suggestion(key, known)));
}

std::int64_t whole_in(const std::string& where, const Value& value, std::int64_t least) {
  const auto* number = std::get_if<std::int64_t>(&value.data);
  if (number == nullptr || *number < least)
    throw RequestError(
        fmt::format("{} must be a whole number, at least {}, not {}", where, least, to_toml(value)));
  return *number;
}

// One value for all nodes, or a list with one per node.
template <class Read>
std::vector<double> one_a_node(const std::string& key, const Value& value, std::size_t nodes, Read read) {
  const auto* list = std::get_if<Value::List>(&value.data);
  if (list == nullptr) return std::vector(nodes, read(key, value));
  if (list->size() != nodes)
    throw RequestError(fmt::format("{} has {} items for {} nodes", key, list->size(), nodes));
  std::vector<double> all;
  for (const Value& item : *list) all.push_back(read(key, item));
  return all;
}

double read_speed(const std::string& key, const Value& value) {
  double speed = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) speed = static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value.data)) speed = *real;
  if (!(speed > 0) || speed > 1e30)
    throw RequestError(
        fmt::format("{} must be operations a second, such as 2e10, not {}", key, to_toml(value)));
  return speed;
}

std::vector<SimLink> links(const std::string& where, const Value& bandwidth, const Value& latency,
                           std::size_t nodes) {
  const std::vector<double> bytes = one_a_node(where + "bandwidth", bandwidth, nodes, read_bandwidth);
  const std::vector<double> seconds = one_a_node(where + "latency", latency, nodes, read_duration);
  std::vector<SimLink> all(nodes);
  for (std::size_t i = 0; i < nodes; ++i) all[i] = {bytes[i], seconds[i]};
  return all;
}

std::vector<SimSite> read_sites(const NetworkSettings& network, int nodes) {
  std::vector<SimSite> sites;
  std::int64_t all = 0;
  for (const Value::Table* table : tables_of(*network.sites)) {
    const std::string where = fmt::format("network.sites[{}].", sites.size());
    check_keys(where.substr(0, where.size() - 1), *table,
               {"nodes", "bandwidth", "latency", "uplink", "uplink_latency"});
    const Value* const count = find(*table, "nodes");
    if (count == nullptr) throw RequestError(where + "nodes is missing: how many nodes the site has");
    const std::int64_t here = whole_in(where + "nodes", *count, 1);
    all += here;
    if (all > nodes) break;
    const auto given = [&](const char* key, const Value& otherwise) -> const Value& {
      const Value* const value = find(*table, key);
      return value == nullptr ? otherwise : *value;
    };
    SimSite site;
    site.links = links(where, given("bandwidth", network.bandwidth), given("latency", network.latency),
                       static_cast<std::size_t>(here));
    if (const Value* const uplink = find(*table, "uplink")) {
      site.has_uplink = true;
      site.uplink = {read_bandwidth(where + "uplink", *uplink),
                     read_duration(where + "uplink_latency", given("uplink_latency", network.latency))};
    } else if (find(*table, "uplink_latency") != nullptr) {
      throw RequestError(where + "uplink_latency is given without an uplink, a bandwidth");
    }
    sites.push_back(std::move(site));
  }
  if (all != nodes)
    throw RequestError(fmt::format("network.sites have {}{} nodes, cluster.nodes is {}",
                                   all > nodes ? "at least " : "", all, nodes));
  return sites;
}

std::vector<SimLoss> read_losses(const Value& value, int nodes) {
  std::vector<SimLoss> losses;
  for (const Value::Table* table : tables_of(value)) {
    const std::string where = "network.loss_of_nodes";
    check_keys(where, *table, {"node", "at", "for", "every"});
    const Value *const node = find(*table, "node"), *const at = find(*table, "at"),
                       *const length = find(*table, "for"), *const every = find(*table, "every");
    if ((at == nullptr) == (every == nullptr))
      throw RequestError(
          where + " needs either `at`, the time of the failure, or `every`, the mean time between failures");
    SimLoss loss;
    loss.length =
        length == nullptr ? std::numeric_limits<double>::infinity() : read_duration(where + ".for", *length);
    if (at != nullptr) loss.at = read_duration(where + ".at", *at);
    if (every != nullptr) loss.every = read_duration(where + ".every", *every);
    if (every != nullptr && loss.every <= 0) throw RequestError(where + ".every must be above 0");
    if (node == nullptr && at != nullptr) throw RequestError(where + " needs `node`, the host that fails");
    const std::int64_t only = node == nullptr ? -1 : whole_in(where + ".node", *node, 0);
    if (only >= nodes)
      throw RequestError(fmt::format("{}.node = {}: there are {} nodes", where, only, nodes));
    for (int i = 0; i < nodes; ++i)
      if (only < 0 || only == i) {
        loss.node = i;
        losses.push_back(loss);
      }
  }
  return losses;
}

}  // namespace

SimNetwork read_network(const NetworkSettings& settings, int nodes, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(nodes);
  SimNetwork network;
  network.seed = seed;
  network.lv08 = settings.model == TcpModel::lv08;
  network.crosstraffic = settings.crosstraffic;
  network.duplex = settings.duplex;
  network.jitter = read_duration("network.jitter", settings.jitter);
  if (settings.loss_of_nodes) network.losses = read_losses(*settings.loss_of_nodes, nodes);
  if (settings.platform) {
    network.platform = *settings.platform;
    if (settings.sites) throw RequestError("network.platform and network.sites are both given; keep one");
    if (settings.speed) network.speed = one_a_node("network.speed", *settings.speed, count, read_speed);
    return network;
  }
  network.speed = one_a_node("network.speed", settings.speed.value_or(Value{1e10}), count, read_speed);
  if (settings.shape == NetworkShape::full) {
    if (settings.sites) throw RequestError("network.shape = \"full\" has no sites: leave one of them out");
    if (nodes > kMostInFull)
      throw RequestError(
          fmt::format("network.shape = \"full\" has a link for every two of {} nodes: choose star", nodes));
    network.shape = SimNetwork::Shape::full;
    network.pair = {read_bandwidth("network.bandwidth", settings.bandwidth),
                    read_duration("network.latency", settings.latency)};
  } else if (settings.sites) {
    network.sites = read_sites(settings, nodes);
  } else {
    network.sites = {{links("network.", settings.bandwidth, settings.latency, count), false, {}}};
  }
  return network;
}

}  // namespace veche
