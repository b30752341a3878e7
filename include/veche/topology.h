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

// The mixing matrix W of one round: x_i <- sum_j w_ij x_j. Sparse, one row per node. A row includes
// the node itself and is sorted by node. Sums are always taken in this order, which makes runs
// repeatable to the bit. Immutable; any thread may read.
class VECHE_API Mixing {
 public:
  // Throws RequestError, naming the row, if a row does not sum to one (within 1e-9), or names a
  // node twice or a node that does not exist. A row that omits its own node gets it with weight 0.
  explicit Mixing(std::vector<std::vector<Weight>> rows);

  int nodes() const { return static_cast<int>(rows_.size()); }
  std::span<const Weight> row(int node) const { return rows_[static_cast<std::size_t>(node)]; }
  // The other nodes that need this node's vector: every j != node whose row contains `node`.
  // Sorted.
  std::span<const int> readers(int node) const { return readers_[static_cast<std::size_t>(node)]; }

 private:
  std::vector<std::vector<Weight>> rows_;
  std::vector<std::vector<int>> readers_;
};

// How fast disagreement shrinks. `rate` is the asymptotic factor per round:
// - fixed weights: the spectral radius of W (without the eigenvalue 1 of the mean);
// - a schedule of period p: the p-th root of the spectral radius of the product of its rounds;
// - random matchings: the square root of the expected contraction of the squared distance,
//   `estimated` from sampled rounds.
struct Contraction {
  double rate = 1;
  // Schedules only: norm of the disagreement left after a whole period.
  std::optional<double> residual;
  bool estimated = false;
};

// Built from the [topology] section: the graph and the weights of every round. Every node builds
// the same topology from the same text, without communication. Immutable; any thread may read.
class VECHE_API Topology {
 public:
  virtual ~Topology() = default;

  virtual int nodes() const = 0;
  // The weights of round k = 0, 1, 2, ... They depend only on the request and on k. Cheap.
  virtual std::shared_ptr<const Mixing> at(std::uint64_t round) const = 0;
  // Union of the graphs of all rounds: an edge means that two nodes exchange messages in some
  // round.
  virtual const Graph& graph() const = 0;
  // Number of rounds after which the weights repeat; 0 if they are drawn at random for ever.
  virtual std::uint64_t period() const = 0;
  virtual Contraction contraction() const = 0;
  // For optimal weights: a proven lower bound on the rate of any weights on this graph.
  virtual std::optional<double> bound() const { return std::nullopt; }
  // One line for tables: "ring:4, metropolis".
  virtual std::string describe() const = 0;
};

}  // namespace veche
