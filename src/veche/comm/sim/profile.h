#pragma once

#include <string>
#include <utility>
#include <vector>

namespace veche {

// A time-dependent property of a simulated platform: values from given times on, optionally
// periodic.
struct SimProfile {
  enum class Of {
    host_state,  // 0: the host is off
    link_state,  // 0: the link is down
    speed,       // of a host, as a fraction of its speed
    bandwidth,   // of a link, bytes per second
    latency      // of a link, seconds
  };
  using Points = std::vector<std::pair<double, double>>;  // seconds and value, in chronological order

  Of of = Of::host_state;
  std::string element;  // the host or link
  int line = 0;         // of the platform file that refers to it
  Points points = {};
  double period = 0;  // seconds; 0: not periodic

  // Whether there is an i-th change, counted over all repetitions.
  bool has(std::size_t i) const { return period > 0 ? !points.empty() : i < points.size(); }
  double time(std::size_t i) const {
    const std::size_t repetitions = i / points.size();  // whole ones, before this change
    return static_cast<double>(repetitions) * period + points[i % points.size()].first;
  }
  double value(std::size_t i) const { return points[i % points.size()].second; }
};

// Parses SimGrid's profile format: lines of a time and a value, "PERIODICITY 12" or "LOOPAFTER 8",
// and comments. `period` above 0 also makes it periodic. Throws RequestError, "line 3 ...", for
// anything that SimGrid rejects, and for random profiles.
void read_profile(const std::string& text, double period, SimProfile& profile);

}  // namespace veche
