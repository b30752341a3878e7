#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "veche/model/torch/layers.h"

namespace veche::torch_model {

// The passes of one convolution over channels-last images of one size, prepared once: libtorch prepares them
// anew in every call, which costs a small batch a sixth of its time. All tensors are dense and in memory of
// the processor; results are overwritten. Holds none of them: any number of threads may use it at a time.
class ConvPlan {
 public:
  ConvPlan(const ConvOptions& options, at::IntArrayRef images, const at::Tensor& weight, bool bias);
  ~ConvPlan();
  bool fits(const ConvOptions& options, at::IntArrayRef images, const at::Tensor& weight, bool bias) const;

  bool with_bias() const { return bias_; }

  // A bias is looked at only where the plan is made with one.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
  at::Tensor input_gradient(const at::Tensor& dy, const at::Tensor& weight);
  void parameter_gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& dweight,
                           const at::Tensor& dbias);

 private:
  struct Passes;
  const ConvOptions options_;
  const std::vector<std::int64_t> images_;
  const std::vector<std::int64_t> weight_strides_;
  const bool bias_;
  const std::unique_ptr<Passes> passes_;
};

// Plans that layers and learners share: a thousand nodes with the same network prepare each pass once. A plan
// lives as long as somebody uses it. Any thread.
class ConvPlans {
 public:
  std::shared_ptr<ConvPlan> find_or_make(const ConvOptions& options, at::IntArrayRef images,
                                         const at::Tensor& weight, bool bias);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<ConvPlan>> plans_;  // guarded by mutex_
};

}  // namespace veche::torch_model
