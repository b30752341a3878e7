#include "veche/train/strategies/local_sgd/outer_optimizer.h"

#include <cmath>

namespace veche {

OuterOptimizer::Rule OuterOptimizer::rule_of(const LocalSgdOptions& options) {
  if (options.outer == "adam") return Rule::adam;
  if (options.outer == "yogi") return Rule::yogi;
  if (options.outer == "nesterov") return Rule::nesterov;
  return options.outer == "momentum" ? Rule::momentum : Rule::none;
}

OuterOptimizer::OuterOptimizer(const LocalSgdOptions& options, std::size_t length, double rate_factor)
    : rule_(rule_of(options)),
      rate_(static_cast<float>(rate_factor * (options.has_outer() ? options.outer_rate : 1))),
      momentum_(static_cast<float>(options.outer_momentum)),
      beta2_(static_cast<float>(options.outer_beta2)),
      epsilon_(static_cast<float>(options.outer_epsilon)) {
  if (rule_ != Rule::none) velocity_.resize(length);
  if (rule_ == Rule::adam || rule_ == Rule::yogi) square_.assign(length, epsilon_ * epsilon_);
}

void OuterOptimizer::step(std::span<float> common, std::span<const float> slope, std::size_t from) {
  if (rule_ == Rule::none) {
    for (std::size_t i = 0; i < common.size(); ++i) common[i] -= rate_ * slope[i];
    return;
  }
  float* const velocity = velocity_.data() + from;
  if (rule_ == Rule::momentum || rule_ == Rule::nesterov) {
    const bool nesterov = rule_ == Rule::nesterov;
    for (std::size_t i = 0; i < common.size(); ++i) {
      velocity[i] = momentum_ * velocity[i] + slope[i];
      common[i] -= rate_ * (nesterov ? slope[i] + momentum_ * velocity[i] : velocity[i]);
    }
    return;
  }
  float* const square = square_.data() + from;
  for (std::size_t i = 0; i < common.size(); ++i) {
    const float of_slope = slope[i] * slope[i];
    velocity[i] = momentum_ * velocity[i] + (1 - momentum_) * slope[i];
    if (rule_ == Rule::adam)
      square[i] = beta2_ * square[i] + (1 - beta2_) * of_slope;
    else if (square[i] != of_slope)
      square[i] -= (square[i] > of_slope ? 1.0F : -1.0F) * (1 - beta2_) * of_slope;
    common[i] -= rate_ * velocity[i] / (std::sqrt(square[i]) + epsilon_);
  }
}

std::vector<std::span<float>> OuterOptimizer::state() {
  std::vector<std::span<float>> all{velocity_};
  if (!square_.empty()) all.emplace_back(square_);
  return all;
}

}  // namespace veche
