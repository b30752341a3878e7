// Plays the profiles of a platform over time.
#include <fmt/format.h>

#include <limits>

#include "veche/comm/sim/nodes.h"
#include "veche/comm/sim/platform.h"

namespace veche {
namespace {

// The time until which a host that goes off with this change stays off.
double next_up(const SimProfile& profile, std::size_t change) {
  for (std::size_t i = change + 1; profile.has(i) && i <= change + profile.points.size(); ++i)
    if (profile.value(i) > 0) return profile.time(i);
  return std::numeric_limits<double>::infinity();
}

}  // namespace

void SimNodes::play(const SimProfile& profile, std::size_t change) {
  if (!profile.has(change)) return;
  longest_cycle_ = std::max(longest_cycle_, profile.period);
  at(start_ + profile.time(change), profile.period == 0, [this, &profile, change] {
    apply(profile, change);
    play(profile, change + 1);
  });
}

void SimNodes::apply(const SimProfile& profile, std::size_t change) {
  const double value = profile.value(change);
  if (profile.of != SimProfile::Of::host_state && profile.of != SimProfile::Of::speed)
    return set_link(profile, value);
  const auto host =
      std::ranges::find(hosts_, profile.element, [](const auto* each) { return each->get_name(); });
  if (host == hosts_.end()) return;  // no node is there
  const NodeId node{static_cast<int>(host - hosts_.begin())};
  if (profile.of == SimProfile::Of::speed) {
    one(node).availability = value;
    set_rate(node);
  } else if (value == 0 && now() >= one(node).away_until) {
    host_leaves({.node = node.value, .length = next_up(profile, change) - profile.time(change)});
  }
}

void SimNodes::set_link(const SimProfile& profile, double value) {
  const std::string name = fmt::format("link \"{}\"", profile.element);
  for (simgrid::s4u::Link* const link : links_named(*engine_, profile.element)) {
    if (profile.of == SimProfile::Of::bandwidth) {
      link->set_bandwidth(value);
    } else if (profile.of == SimProfile::Of::latency) {
      link->set_latency(value);
    } else if (value == 0) {
      failed(name);
      wires_.cut(link);
    } else {
      failed_.erase(name);
      wires_.mend(link);
    }
  }
}

}  // namespace veche
