#pragma once

#include "veche/model/torch/gradient_report.h"
#include "veche/model/torch/network.h"

namespace veche::torch_model {

struct ConvOptions {
  int in = 0;
  int out = 0;
  int kernel = 3;
  int stride = 1;
  int padding = 0;
  bool bias = false;
};

// The layers write the gradients of their parameters straight into parameter.grad(), which must be there, and
// overwrite what it held: every parameter belongs to one layer that is used once in a pass. Then they report
// it.
class Layer : public torch::nn::Module {
 public:
  const GradientReport* report = nullptr;  // outlives every pass; must be there before the first

 protected:
  // For the backward pass, which has no layer: what autograd keeps for it are tensors and numbers.
  std::int64_t report_address() const { return reinterpret_cast<std::int64_t>(report); }
};
const GradientReport& report_at(const c10::IValue& address);

class Conv : public Layer {
 public:
  explicit Conv(const ConvOptions& options);
  // Leaves the bias out: it is for the batch norm behind.
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
  at::Tensor bias;  // undefined without one

 private:
  const ConvOptions options_;
};

// Batch norm and ReLU as one. `input_bias`, which may be undefined, is a constant per channel that x still
// lacks. In training the norm takes it away again, so that only the running mean knows of it and its gradient
// is zero.
class BatchNorm : public Layer {
 public:
  explicit BatchNorm(int channels);
  // relu(norm(x) + residual); the residual may be undefined.
  at::Tensor relu(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& input_bias,
                  bool training);
  // Followed by the largest of every 2x2 pixels.
  at::Tensor relu_pool(const at::Tensor& x, const at::Tensor& input_bias, bool training);

  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_var;

 private:
  at::Tensor coefficients(const at::Tensor& x, const at::Tensor& input_bias, bool training);
};

class Linear : public Layer {
 public:
  Linear(std::int64_t in, std::int64_t out);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
  at::Tensor bias;
};

// Zeroes each number with this probability and scales the others up; nothing outside training.
at::Tensor dropout(const at::Tensor& x, double probability, Pass& pass);

}  // namespace veche::torch_model
