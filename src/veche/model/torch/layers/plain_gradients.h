#pragma once

#include <memory>
#include <vector>

#include "veche/model/torch/headers.h"
#include "veche/model/torch/layers/gradient_report.h"

namespace veche::torch_model {

// Gradients of parameters that belong to no Layer: autograd accumulates them into parameter.grad(),
// a view of the flat gradient, which is therefore zeroed before each pass. A parameter may be used
// any number of times; unused ones have gradient zero. Reports each accumulated gradient once per
// pass.
class PlainGradients {
 public:
  // The network's parameters must already be views of the flat vectors and stay so. The report
  // outlives every pass.
  PlainGradients(torch::nn::Module& network, const GradientReport& report);

  void zero();

 private:
  std::vector<at::Tensor> gradients_;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;  // own the hooks that call the report
};

}  // namespace veche::torch_model
