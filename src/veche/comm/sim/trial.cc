#include "veche/comm/sim/trial.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>
#include <simgrid/Exception.hpp>

#include "veche/base/machine/memory.h"
#include "veche/comm/sim/engine.h"
#include "veche/comm/sim/platform.h"
#include "veche/errors.h"

namespace veche {
namespace {

namespace s4u = simgrid::s4u;

constexpr rlim_t kMostSeconds = 120;     // CPU time to build a platform
constexpr double kSecondsForRoutes = 3;  // of it for route queries
constexpr double kLongestLatency = 1e9;  // seconds

// Results in shared memory that survive the trial process, however it ends.
struct TrialResult {
  bool done = false;
  char doing[1024] = {};
  char refusal[4096] = {};
};

template <std::size_t size>
void put(char (&to)[size], const std::string& text) {
  std::strncpy(to, text.c_str(), size - 1);
}

class SharedResult {
 public:
  SharedResult()
      : memory_(
            ::mmap(nullptr, sizeof(TrialResult), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw RunError("there is no memory to look at the platform");
    new (memory_) TrialResult;
  }
  ~SharedResult() { ::munmap(memory_, sizeof(TrialResult)); }
  SharedResult(const SharedResult&) = delete;
  SharedResult& operator=(const SharedResult&) = delete;
  TrialResult& operator*() const { return *static_cast<TrialResult*>(memory_); }

 private:
  void* const memory_;
};

std::string first_line(const std::string& text) {
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    if (text.find_first_not_of(" \t\r", from) < to)
      return text.substr(from, std::min<std::size_t>(to - from, 300));
    from = to + 1;
  }
  return "";
}

bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

class Trial {
 public:
  Trial(int nodes, const SimNetwork& network, const SimPlatform& platform, TrialResult& result)
      : nodes_(static_cast<std::size_t>(nodes)), network_(network), platform_(platform), result_(result) {}

  void run() {
    const std::unique_ptr<s4u::Engine> engine = make_sim_engine(static_cast<int>(nodes_), network_);
    load_platform(*engine, platform_);
    hosts_ = sorted_hosts(*engine);
    if (hosts_.size() < nodes_)
      refuse(fmt::format("it has {} hosts for {} nodes: lower cluster.nodes", hosts_.size(), nodes_));
    hosts_.resize(nodes_);
    engine->seal_platform();
    for (const s4u::Link* link : engine->get_all_links())
      if (!is_amount(link->get_bandwidth()) || !is_amount(link->get_latency()) ||
          link->get_latency() > kLongestLatency)
        refuse(fmt::format("link \"{}\" has a bandwidth of {:g} bytes a second and a latency of {:g} s",
                           link->get_name(), link->get_bandwidth(), link->get_latency()));
    for (const s4u::Host* host : hosts_)
      if (network_.speed.empty() && (!is_amount(host->get_speed()) || host->get_speed() == 0))
        refuse(fmt::format("host \"{}\" does {:g} operations a second", host->get_name(), host->get_speed()));
    for (const SimProfile& profile : platform_.profiles) check(*engine, profile);
    check_routes();
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    put(result_.refusal, why);
    ::_exit(1);
  }

  void check(const s4u::Engine& engine, const SimProfile& profile) const {
    const bool of_host = profile.of == SimProfile::Of::host_state || profile.of == SimProfile::Of::speed;
    if (of_host ? engine.host_by_name_or_null(profile.element) == nullptr
                : links_named(engine, profile.element).empty())
      refuse(fmt::format("line {}: there is no {} \"{}\" that could have a profile", profile.line,
                         of_host ? "host" : "link", profile.element));
  }

  // First the routes of node 0 and of ring neighbours, then others while time remains.
  void check_routes() {
    for (std::size_t i = 1; i < nodes_; ++i) check_both_ways(0, i);
    for (std::size_t distance = 1; 2 * distance <= nodes_; ++distance)
      for (std::size_t i = 0; i < nodes_; ++i) {
        if (static_cast<double>(std::clock()) / CLOCKS_PER_SEC > kSecondsForRoutes) return;
        check_both_ways(i, (i + distance) % nodes_);
      }
  }
  void check_both_ways(std::size_t i, std::size_t j) {
    check_route(*hosts_[i], *hosts_[j]);
    check_route(*hosts_[j], *hosts_[i]);
  }
  void check_route(const s4u::Host& from, const s4u::Host& to) {
    const auto way = [&] {
      return fmt::format("from host \"{}\" to host \"{}\"", from.get_name(), to.get_name());
    };
    put(result_.doing, "there is no route " + way());
    links_.clear();
    double latency = 0;
    from.route_to(&to, links_, &latency);
    if (links_.empty() && latency <= 0) refuse(result_.doing);
    for (const s4u::Link* link : links_)
      if (link->get_bandwidth() <= 0)
        refuse(fmt::format("link \"{}\" has a bandwidth of 0, and the route {} goes over it",
                           link->get_name(), way()));
    result_.doing[0] = 0;
  }

  const std::size_t nodes_;
  const SimNetwork& network_;
  const SimPlatform& platform_;
  TrialResult& result_;
  std::vector<s4u::Host*> hosts_;
  std::vector<s4u::Link*> links_;
};

void limit(int resource, rlim_t value) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  now.rlim_cur = std::min(now.rlim_cur, value);
  ::setrlimit(resource, &now);
}

// Using more memory than the machine has would end other processes.
void limit_memory() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::uint64_t used = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
                      left = available_memory();
  if (left < RLIM_INFINITY - used) limit(RLIMIT_AS, used + left);
}

// In the child.
[[noreturn]] void try_here(int nodes, const SimNetwork& network, const SimPlatform& platform,
                           TrialResult& result) {
  limit(RLIMIT_CPU, kMostSeconds);
  limit(RLIMIT_CORE, 0);
  limit_memory();
  try {
    Trial(nodes, network, platform, result).run();
    result.done = true;
  } catch (const std::bad_alloc&) {
    put(result.refusal, "it needs more memory than is available");
  } catch (const std::exception& error) {
    put(result.refusal, first_line(error.what()));
  }
  ::_exit(0);
}

std::string reason(const TrialResult& result, const std::string& said, int status) {
  if (result.refusal[0] != 0) return result.refusal;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    return fmt::format("SimGrid takes more than {} s to build it", kMostSeconds);
  std::string words = first_line(said);
  if (result.doing[0] != 0) return words.empty() ? result.doing : fmt::format("{} ({})", result.doing, words);
  if (!words.empty()) return words;
  return WIFSIGNALED(status) ? fmt::format("SimGrid ends with signal {} on it", WTERMSIG(status))
                             : "SimGrid does not say why";
}

// Removes the path: the file is not the one that SimGrid reads.
std::string without_path(std::string text) {
  constexpr std::string_view kPath = "/proc/self/fd/";
  const std::size_t at = text.find(kPath);
  if (at == std::string::npos) return text;
  const std::size_t end = text.find_first_not_of("0123456789", at + kPath.size());
  if (end == std::string::npos || text[end] != ':') return text;
  const std::size_t begin = text.starts_with("Parse error at ") ? 0 : at;
  return text.substr(0, begin) + "line " + text.substr(end + 1);
}

}  // namespace

void try_platform(int nodes, const SimNetwork& network, const SimPlatform& platform) {
  const SharedResult result;
  int words[2];
  if (::pipe(words) != 0) throw RunError("no more pipes can be opened");
  const pid_t child = ::fork();
  if (child < 0) throw RunError("no process can be started to look at the platform");
  if (child == 0) {
    ::dup2(words[1], STDERR_FILENO);
    ::dup2(words[1], STDOUT_FILENO);
    for (const int end : words) ::close(end);
    try_here(nodes, network, platform, *result);
  }
  ::close(words[1]);
  std::string said;
  char text[4096];
  for (ssize_t count = 0; (count = ::read(words[0], text, sizeof text)) > 0;)
    if (said.size() < (1 << 16)) said.append(text, static_cast<std::size_t>(count));
  ::close(words[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!(*result).done)
    throw RequestError(fmt::format("network.platform = \"{}\" cannot be simulated: {}", platform.file,
                                   without_path(reason(*result, said, status))));
}

}  // namespace veche
