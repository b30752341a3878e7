#pragma once

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

class Conv : public torch::nn::Module {
 public:
  explicit Conv(const ConvOptions& options);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
  at::Tensor bias;  // undefined without one

 private:
  const ConvOptions options_;
};

class BatchNorm : public torch::nn::Module {
 public:
  explicit BatchNorm(int channels);
  // relu(norm(x) + residual); the residual may be undefined.
  at::Tensor forward_relu(const at::Tensor& x, const at::Tensor& residual, bool training);

  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_var;
};

class Linear : public torch::nn::Module {
 public:
  Linear(std::int64_t in, std::int64_t out);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;
  at::Tensor bias;
};

// Zeroes each number with this probability and scales the others up; nothing outside training.
at::Tensor dropout(const at::Tensor& x, double probability, Pass& pass);

}  // namespace veche::torch_model
