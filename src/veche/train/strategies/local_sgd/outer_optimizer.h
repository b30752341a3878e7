#pragma once

#include <span>
#include <string>
#include <vector>

#include "veche/train/strategies/local_sgd/options.h"

namespace veche {

// The optimiser of the common model of local SGD. It takes how far the nodes' mean has moved away
// from the common model as a gradient (Reddi et al. 2021, FedOpt):
//   none      c -= s
//   sgd       c -= rate s
//   momentum  v = m v + s; c -= rate v                      (SlowMo)
//   nesterov  v = m v + s; c -= rate (s + m v)              (DiLoCo)
//   adam      v = m v + (1-m) s; q = b q + (1-b) s^2; c -= rate v / (sqrt(q) + epsilon)
//   yogi      the same with q -= (1-b) s^2 sign(q - s^2)
// without bias correction, and q begins as epsilon^2, as in the paper. Belongs to one thread.
class OuterOptimizer {
 public:
  // `rate_factor` multiplies the rate.
  OuterOptimizer(const LocalSgdOptions& options, std::size_t length, double rate_factor = 1);

  // Moves the part of the common model that begins at `from`; `slope` is s, of the same length.
  void step(std::span<float> common, std::span<const float> slope, std::size_t from = 0);
  // The same length in every run with the same options.
  std::vector<std::span<float>> state();

 private:
  enum class Rule { none, momentum, nesterov, adam, yogi };
  static Rule rule_of(const LocalSgdOptions& options);

  const Rule rule_;
  const float rate_, momentum_, beta2_, epsilon_;
  std::vector<float> velocity_, square_;
};

}  // namespace veche
