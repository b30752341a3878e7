#pragma once

#include <optional>
#include <vector>

#include "veche/strategy.h"
#include "veche/train/compression/coded_sum.h"

namespace veche {

// SCAFFOLD (Karimireddy et al. 2020) for local SGD: a node's steps between two averages use
// g - c_i + c, where c_i is the mean of the node's own gradients since the last average but one,
// and c the mean of all c_i. So steps of nodes with different data go in the common direction. This
// is the paper's second option, written with gradients, so that any optimiser can make the steps.
class ControlVariates {
 public:
  // Without a codec `coder` is off. All outlive it.
  ControlVariates(StrategyContext& context, Coder& coder);

  // Of a step with samples. `averages`: models are averaged after it. Until that average has
  // succeeded nothing is changed that a repeated step would change again.
  void correct(std::span<float> gradient, bool averages);
  // Collective, when models are averaged. `share`: of this node in the mean.
  void exchange(float share, bool coded);
  // The exchange of the models has succeeded too.
  void commit();

  std::span<float> common() { return common_; }
  std::vector<std::span<float>> own() { return {own_, sum_, steps_}; }
  void add_state(SavedState& state);

 private:
  StrategyContext& context_;
  std::optional<CodedSum> coded_;  // of the changes of c; none without a codec
  std::vector<float> common_, own_;
  std::vector<float> sum_;  // of the gradients since the last average
  // Their number, and whether own_ is known: a vector, since it is kept with them. A newcomer's
  // own_ is not; it begins as c.
  std::vector<float> steps_ = std::vector<float>(2);
  std::vector<float> fresh_, mean_;  // the next own_ and common_
  bool has_fresh_ = false;
};

}  // namespace veche
