#include "veche/comm/sim/engine.h"

#include <xbt/log.h>

#include <array>
#include <csignal>
#include <string>
#include <utility>

#include "veche/errors.h"

namespace veche {
namespace {

// SimGrid takes over these signals. They are restored: a flag interrupts a run, and a truncated
// mapped file gets a sentence.
constexpr std::array kSignals{SIGINT, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

class SavedSignals {
 public:
  SavedSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], nullptr, &kept_[i]);
  }
  ~SavedSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &kept_[i], nullptr);
  }
  SavedSignals(const SavedSignals&) = delete;
  SavedSignals& operator=(const SavedSignals&) = delete;

 private:
  std::array<struct sigaction, kSignals.size()> kept_{};
};

// Only touched pages take memory, but addresses and mappings are limited.
constexpr int kMany = 4000;
constexpr int kStackOfFew = 1024;  // KiB
constexpr int kStackOfMany = 128;
constexpr int kMostGuarded = 10'000;  // a guard page is a separate mapping; the limit is 65,530

}  // namespace

std::unique_ptr<simgrid::s4u::Engine> make_sim_engine(int nodes, const SimNetwork& network) {
  using simgrid::s4u::Engine;
  static bool used = false;  // SimGrid's clock and options start once per process
  if (std::exchange(used, true))
    throw RequestError(
        "a process simulates one run, and this one has done so: start another process for the next");
  const SavedSignals kept;
  xbt_log_control_set("root.thres:critical");  // only the message before it gives up,
  xbt_log_control_set("root.fmt:%m%n");        // and nothing else
  xbt_log_control_set("no_loc");
  // SimGrid chooses the kind of its actors while it is constructed, from an argument.
  std::string name = "veche", factory = "--cfg=contexts/factory:thread";
  std::array<char*, 3> arguments{name.data(), network.threads ? factory.data() : nullptr, nullptr};
  int count = network.threads ? 2 : 1;
  auto engine = std::make_unique<Engine>(&count, arguments.data());
  Engine::set_config("network/model", std::string(network.lv08 ? "LV08" : "CM02"));
  Engine::set_config("network/crosstraffic", network.crosstraffic);
  Engine::set_config("contexts/stack-size", nodes > kMany ? kStackOfMany : kStackOfFew);
  if (nodes > kMostGuarded) Engine::set_config("contexts/guard-size", 0);
  return engine;
}

}  // namespace veche
