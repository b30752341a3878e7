#pragma once

#include <cstdint>
#include <limits>

#include "veche/options.h"
#include "veche/strategy.h"
#include "veche/train/strategies/parameter_server/server_tree.h"

namespace veche {

// When a server applies the pushes of workers, and when it answers them.
struct ServerPolicy {
  static constexpr std::uint64_t kAnyLead = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t lead = kAnyLead;  // clocks a worker may be ahead of the slowest
  std::uint64_t backup = 0;       // workers that an update does not wait for
  bool sync = false;              // one update for all gradients of a step, not one for each
  bool mean = true;               // of the gradients; false: their sum
  bool damp = false;              // scale by 1 / (1 + staleness)
  double compensate = 0;          // lambda of delay compensation

  // All workers at every step: servers need no helper.
  bool in_step() const { return (sync && backup == 0) || lead == 0; }
  bool bounded() const { return lead != kAnyLead; }
};

// The [strategy] section of the parameter server, of both forms.
struct ParameterServerOptions {
  // Throws RequestError for a staleness that is none.
  explicit ParameterServerOptions(const Options& options);
  // Throws RequestError for keys that exclude each other.
  ServerPolicy policy() const;

  enum class Update { sync, async, ssp };
  enum class Reduce { automatic, mean, sum };

  Update update;
  Reduce reduce;
  std::uint64_t staleness;  // clocks; kAnyLead: any
  std::uint64_t backup;
  bool damp;
  double compensate;
  std::int64_t delay;  // steps
  int servers;
  std::int64_t fanout;
  bool dedicated;
};

// Throws RequestError if there are more servers than nodes.
ServerTree server_tree(const StrategyContext& context, const ParameterServerOptions& options);
// An optimiser for the part that this node serves.
std::unique_ptr<Optimizer> optimizer_of_part(const StrategyContext& context, const ServerTree& tree);

}  // namespace veche
