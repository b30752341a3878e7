#include "veche/base/machine/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace veche {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

double quota_of(double microseconds, double period) {
  return microseconds > 0 && period > 0 ? microseconds / period : kUnlimited;
}

double number_in(const std::filesystem::path& file) {
  double number = -1;
  std::ifstream(file) >> number;
  return number;
}

// cgroup v2: "max 100000", or a quota and its period in microseconds.
double quota_v2(const std::filesystem::path& group) {
  std::ifstream file(group / "cpu.max");
  double microseconds = -1, period = -1;
  return file >> microseconds >> period ? quota_of(microseconds, period) : kUnlimited;
}

// cgroup v1: -1 means no limit.
double quota_v1(const std::filesystem::path& group) {
  return quota_of(number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us"));
}

// The lowest quota of a group and its ancestors. In a container the path may be the host's, and
// only the root of the hierarchy is visible; then the root's quota applies.
template <class Quota>
double least_upwards(const std::filesystem::path& top, const std::string& path, Quota quota) {
  double least = quota(top);
  std::filesystem::path group = top;
  for (const auto& name : std::filesystem::path(path).relative_path()) {
    group /= name;
    least = std::min(least, quota(group));
  }
  return least;
}

// "0::/a/b" in cgroup v2, "4:cpu,cpuacct:/a/b" in cgroup v1.
struct Membership {
  explicit Membership(const std::string& line) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) return;
    for (std::size_t from = first + 1; from <= second;) {
      const std::size_t to = std::min(line.find(',', from), second);
      controllers.push_back(line.substr(from, to - from));
      from = to + 1;
    }
    joined = line.substr(first + 1, second - first - 1);
    path = line.substr(second + 1);
  }
  std::vector<std::string> controllers;
  std::string joined;  // the v1 folder has this name, or the name of one controller
  std::string path;
};

int allowed_cores() {
  // Machines with more cores than a cpu_set_t holds: use the total.
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 0) return CPU_COUNT(&cores);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

double core_quota(const std::filesystem::path& groups, const std::filesystem::path& membership) {
  double least = kUnlimited;
  std::ifstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const Membership mine(line);
    if (mine.joined.empty() && !mine.path.empty())
      least = std::min({least, least_upwards(groups, mine.path, quota_v2),
                        least_upwards(groups / "unified", mine.path, quota_v2)});
    if (std::ranges::find(mine.controllers, "cpu") != mine.controllers.end())
      least = std::min({least, least_upwards(groups / mine.joined, mine.path, quota_v1),
                        least_upwards(groups / "cpu", mine.path, quota_v1)});
  }
  return least;
}

int usable_cores(int processes, double quota) {
  int cores = allowed_cores();
  // Processes that a launcher has bound to separate cores share them with no other process.
  if (processes > 1)
    cores = std::clamp(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) / processes, 1, cores);
  // Processes of one job usually share one group.
  const double part = std::ceil(quota / processes);
  return part < cores ? std::max(1, static_cast<int>(part)) : cores;
}

}  // namespace veche
