#include "veche/model/torch/layers.h"

namespace veche::torch_model {

Conv::Conv(const ConvOptions& options) : options_(options) {
  weight = register_parameter("weight", at::empty({options.out, options.in, options.kernel, options.kernel}));
  if (options.bias) bias = register_parameter("bias", at::empty({options.out}));
}

at::Tensor Conv::forward(const at::Tensor& x) const {
  return at::conv2d(x, weight, bias, options_.stride, options_.padding);
}

BatchNorm::BatchNorm(int channels) {
  weight = register_parameter("weight", at::empty({channels}));
  bias = register_parameter("bias", at::empty({channels}));
  running_mean = register_buffer("running_mean", at::empty({channels}));
  running_var = register_buffer("running_var", at::empty({channels}));
}

at::Tensor BatchNorm::forward_relu(const at::Tensor& x, const at::Tensor& residual, bool training) {
  at::Tensor y = at::batch_norm(x, weight, bias, running_mean, running_var, training, 0.1, 1e-5, false);
  if (residual.defined()) y = y + residual;
  return at::relu_(y);
}

Linear::Linear(std::int64_t in, std::int64_t out) {
  weight = register_parameter("weight", at::empty({out, in}));
  bias = register_parameter("bias", at::empty({out}));
}

at::Tensor Linear::forward(const at::Tensor& x) const {
  return at::linear(x, weight, bias);
}

at::Tensor dropout(const at::Tensor& x, double probability, Pass& pass) {
  if (!pass.training || probability == 0) return x;
  at::Tensor mask = at::empty_like(x, x.options().requires_grad(false));
  const auto kept = static_cast<float>(1 / (1 - probability));
  for (float *m = mask.data_ptr<float>(), *end = m + mask.numel(); m != end; ++m)
    *m = pass.dropout.uniform() < probability ? 0 : kept;
  return x * mask;
}

}  // namespace veche::torch_model
