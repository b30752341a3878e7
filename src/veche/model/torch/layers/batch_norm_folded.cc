// Batch norm in evaluation: its statistics are fixed, so it is folded into the preceding
// convolution.
#include <cmath>

#include "veche/model/torch/layers/folded_convs.h"
#include "veche/model/torch/layers/norm.h"

namespace veche::torch_model {

ChannelScale BatchNorm::stored_scale() const {
  const auto channels = static_cast<std::size_t>(weight.numel());
  ChannelScale result{std::vector<float>(channels), std::vector<float>(channels)};
  for (std::size_t c = 0; c < channels; ++c) {
    const auto inverse =
        static_cast<float>(1 / std::sqrt(static_cast<double>(running_var.data_ptr<float>()[c]) + epsilon_));
    result.scale[c] = weight.data_ptr<float>()[c] * inverse;
    result.shift[c] = bias.data_ptr<float>()[c] - running_mean.data_ptr<float>()[c] * result.scale[c];
  }
  return result;
}

at::Tensor BatchNorm::after(const Conv& conv, const at::Tensor& x, const Pass& pass) {
  if (!by_itself() || pass.folded == nullptr) return Norm::after(conv, x, pass);
  return pass.folded->run(
      conv, [this] { return stored_scale(); }, x, Epilogue::none);
}

at::Tensor BatchNorm::relu_after(const Conv& conv, const at::Tensor& x, const at::Tensor& residual,
                                 const Pass& pass) {
  if (!by_itself() || pass.folded == nullptr) return Norm::relu_after(conv, x, residual, pass);
  return pass.folded->run(
      conv, [this] { return stored_scale(); }, x, residual.defined() ? Epilogue::add_relu : Epilogue::relu,
      residual);
}

}  // namespace veche::torch_model
