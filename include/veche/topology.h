#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "veche/export.h"
#include "veche/graph.h"

namespace veche {

struct Weight {
  int node = 0;
  double value = 0;
};

// The mixing matrix W of one round: x_i <- sum_j w_ij x_j. Sparse, one row a node, the node itself included,
// sorted by node: the order in which sums are taken everywhere, which makes runs repeatable to the bit.
// Immutable; any thread may read.
class VECHE_API Mixing {
 public:
  // Throws RequestError, naming the row, when a row does not sum to one (to 1e-9), names a node twice or one
  // that does not exist. A row without its own node gets it with weight 0.
  explicit Mixing(std::vector<std::vector<Weight>> rows);

  int nodes() const { return static_cast<int>(rows_.size()); }
  std::span<const Weight> row(int node) const { return rows_[static_cast<std::size_t>(node)]; }
  // The others that need this node's vector: those j != node with w_j,node in their row. Sorted.
  std::span<const int> readers(int node) const { return readers_[static_cast<std::size_t>(node)]; }

 private:
  std::vector<std::vector<Weight>> rows_;
  std::vector<std::vector<int>> readers_;
};

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
class VECHE_API Topology {
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

}  // namespace veche
