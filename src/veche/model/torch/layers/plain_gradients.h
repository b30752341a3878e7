#pragma once

#include <memory>
#include <vector>

#include "veche/model/torch/headers.h"
#include "veche/model/torch/layers/gradient_report.h"

namespace veche::torch_model {

// The way of every parameter that belongs to no Layer which sees to it by itself: libtorch's autograd adds
// its gradient to parameter.grad(), which lies in the flat gradient and therefore is zeroed before a pass. A
// parameter may be used as often as one likes, or not at all: its gradient is then zero. What autograd has
// added it reports, once in a pass.
class PlainGradients {
 public:
  // The network's parameters are flat already and stay so; the report outlives every pass.
  PlainGradients(torch::nn::Module& network, const GradientReport& report);

  void zero();

 private:
  std::vector<at::Tensor> gradients_;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;  // own what calls the report
};

}  // namespace veche::torch_model
