#pragma once

#include <string>
#include <utility>
#include <vector>

namespace veche {

// What changes in a simulated platform as time passes: values from given moments on, perhaps again and again.
struct SimProfile {
  enum class Of {
    host_state,  // 0: the host is off
    link_state,  // 0: the link is down
    speed,       // of a host, as a fraction of the speed that it has
    bandwidth,   // of a link, bytes a second
    latency      // of a link, seconds
  };
  using Points = std::vector<std::pair<double, double>>;  // seconds and value, in the order of time

  Of of = Of::host_state;
  std::string element;  // the host or link
  int line = 0;         // of the platform file that asks for it
  Points points = {};
  double period = 0;  // seconds; 0: only once

  // The i-th change, counted over all repetitions; false: there is none.
  bool has(std::size_t i) const { return period > 0 ? !points.empty() : i < points.size(); }
  double time(std::size_t i) const {
    return static_cast<double>(i / points.size()) * period + points[i % points.size()].first;
  }
  double value(std::size_t i) const { return points[i % points.size()].second; }
};

// Reads SimGrid's words for it into `profile`: lines of a time and a value, "PERIODICITY 12" or "LOOPAFTER
// 8", and comments. `period` above 0 repeats it as well. Throws RequestError, "line 3 ...", for anything that
// SimGrid would stop at, and for drawn profiles.
void read_profile(const std::string& text, double period, SimProfile& profile);

}  // namespace veche
