#pragma once

#include <memory>
#include <vector>

#include "veche/model/torch/layers.h"

namespace veche::torch_model {

// The passes of one convolution over channels-last images of one size, prepared once: libtorch prepares them
// anew in every call, which costs a small batch a sixth of its time. All tensors are dense and in memory of
// the processor; results are overwritten. Used by one thread at a time.
class ConvPlan {
 public:
  ConvPlan(const ConvOptions& options, at::IntArrayRef images, const at::Tensor& weight, bool bias);
  ~ConvPlan();
  bool fits(at::IntArrayRef images, const at::Tensor& weight, bool bias) const;

  bool with_bias() const { return bias_; }

  // A bias is looked at only where the plan is made with one.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
  at::Tensor input_gradient(const at::Tensor& dy, const at::Tensor& weight);
  void parameter_gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& dweight,
                           const at::Tensor& dbias);

 private:
  struct Passes;
  const std::vector<std::int64_t> images_;
  const std::vector<std::int64_t> weight_strides_;
  const bool bias_;
  const std::unique_ptr<Passes> passes_;
};

}  // namespace veche::torch_model
