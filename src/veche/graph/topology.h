#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/graph/mixing.h"

namespace veche {

// The section [topology] come true: the graph and its weights at every round. Every node builds the same one from the
// same words, without talking. Immutable; any thread may ask.
class Topology {
 public:
  virtual ~Topology() = default;

  virtual int nodes() const = 0;
  // The weights used in round k = 0, 1, 2 ...; the reference is valid until the next call from the same thread.
  virtual const Mixing& at(std::uint64_t round) const = 0;
  // One line for tables: "ring:4, metropolis".
  virtual std::string describe() const = 0;
};

struct TopologyRequest {
  std::string graph = "ring";          // a spec; the number of nodes may be left out
  std::string weights = "metropolis";  // a rule
  std::optional<int> nodes;            // what the cluster has
  std::uint64_t seed = 1;
};

// Throws RequestError in one sentence: unknown spec or rule (with the nearest), wrong number of nodes, a graph
// that is not connected (which components), weights that never converge (why, and a rule that works).
std::shared_ptr<const Topology> make_topology(const TopologyRequest& request);

}  // namespace veche
