#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "veche/channel.h"
#include "veche/learner.h"
#include "veche/train/optim/optimizer.h"

namespace veche {

// Which part of the weights is cut at which step. The same on every node.
struct PruningPlan {
  double fraction = 0;  // of the weights; 0: nothing is ever cut
  std::uint64_t from = 0;
  std::uint64_t until = 0;  // above `from`: in ten cuts that become smaller and smaller

  // The share of weights that a cut after this many steps leaves at zero; nothing if there is no
  // cut then.
  std::optional<double> due(std::uint64_t steps) const;
};

// Magnitude pruning of one node: the smallest weights of all matrices and kernels together become
// zero and stay zero. All nodes have the same mask, computed at the same step from the mean of
// their models, so that averaging keeps the zeros. Biases and norms are not pruned.
class Pruner {
 public:
  // Throws RequestError if the model has nothing to prune.
  Pruner(const PruningPlan& plan, const Learner& learner, std::size_t parameters);

  // After resuming: saved masks may have been averaged.
  void settle();
  // Collective. Also clears the optimizer's state of pruned weights.
  void cut(double fraction, Channel& channel, Learner& learner, Optimizer& optimizer);
  // Zeroes the pruned elements.
  void apply(std::span<float> vector) const;

  // For checkpoints: 0 for pruned weights, else 1. Empty if nothing is ever cut.
  std::span<float> mask() { return mask_; }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> prunable_;  // ranges of the vector
  std::vector<float> mask_;
  bool cut_ = false;  // some weights are pruned
};

}  // namespace veche
