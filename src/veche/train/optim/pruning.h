#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "veche/channel.h"
#include "veche/learner.h"
#include "veche/train/optim/optimizer.h"

namespace veche {

// When how much is cut off. The same on every node.
struct PruningPlan {
  double fraction = 0;  // of the weights; 0: nothing is ever cut
  std::uint64_t from = 0;
  std::uint64_t until = 0;  // above `from`: in ten cuts, first large and then ever smaller ones

  // The share that shall be off once so many steps are done; nothing when there is no cut then.
  std::optional<double> due(std::uint64_t steps) const;
};

// Magnitude pruning of one node: the smallest weights of all matrices and kernels together become zero and
// stay so. All nodes have the same mask, made at the same step from the mean of their models, so that
// averaging models leaves zeros where they are. Biases and norms are not touched.
class Pruner {
 public:
  // Throws RequestError when there is nothing to cut.
  Pruner(const PruningPlan& plan, const Learner& learner, std::size_t parameters);

  // After a resumption: saved masks may have been averaged.
  void settle();
  // Collective. Also forgets what the optimiser remembers of weights that are off.
  void cut(double fraction, Channel& channel, Learner& learner, Optimizer& optimizer);
  // Zeroes what is off.
  void apply(std::span<float> vector) const;

  // What a checkpoint must keep: 1 for on and 0 for off. Empty where nothing is ever cut.
  std::span<float> mask() { return mask_; }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> prunable_;  // stretches of the vector
  std::vector<float> mask_;
  bool cut_ = false;  // something is off
};

}  // namespace veche
