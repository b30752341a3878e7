#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/graph/mixing.h"

namespace veche {

// The section [topology] come true: the graph and its weights at every round. Every node builds the same one
// from the same words, without talking. Immutable; any thread may ask.
class Topology {
 public:
  virtual ~Topology() = default;

  virtual int nodes() const = 0;
  // The weights used in round k = 0, 1, 2 ...: a function of the request and of k, and cheap.
  virtual std::shared_ptr<const Mixing> at(std::uint64_t round) const = 0;
  // Who may talk to whom in any round: the union of the rounds' graphs.
  virtual const Graph& graph() const = 0;
  // After how many rounds the weights repeat; 0 when they are drawn anew for ever.
  virtual std::uint64_t period() const = 0;
  // One line for tables: "ring:4, metropolis".
  virtual std::string describe() const = 0;
};

struct TopologyRequest {
  std::string graph = "ring";          // a spec; the number of nodes may be left out
  std::string weights = "metropolis";  // a rule
  std::optional<int> nodes;            // what the cluster has
  std::uint64_t seed = 1;              // of random graphs whose spec has no @SEED
  bool directed_allowed = false;  // the strategy copes with weights that do not keep the average (push-sum)
};

// Throws RequestError in one sentence: unknown spec or rule (with the nearest), wrong number of nodes, a
// graph that is not connected (which components), weights that never converge (why, and a rule that works).
std::shared_ptr<const Topology> make_topology(const TopologyRequest& request);

}  // namespace veche
