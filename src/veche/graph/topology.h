#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veche/graph/mixing.h"

namespace veche {

// What disagreement shrinks by. `rate` is the factor per round in the long run: the spectral radius of W; of
// a schedule, that of the product of a period's rounds, spread over them; of random matchings, the root of
// the expected contraction of the squared distance, `estimated` from drawn rounds.
struct Contraction {
  double rate = 1;
  std::optional<double>
      residual;  // of a schedule: the norm of what a whole period leaves of any disagreement
  bool estimated = false;
};

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
  virtual Contraction contraction() const = 0;
  // Of optimal weights: no weights on this graph have a smaller rate. Proved, see certificate.h.
  virtual std::optional<double> bound() const { return std::nullopt; }
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

// The graph and weights of a request, also when they never converge or, with `rate` 1, do not even connect
// the nodes. Throws RequestError for everything else that make_topology refuses.
std::shared_ptr<const Topology> build_topology(const TopologyRequest& request);

// Throws RequestError in one sentence: unknown spec or rule (with the nearest), wrong number of nodes, a
// graph that is not connected (which components), weights that never converge (why, and a rule that works).
std::shared_ptr<const Topology> make_topology(const TopologyRequest& request);

}  // namespace veche
