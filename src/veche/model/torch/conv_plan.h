#pragma once

#include <memory>
#include <vector>

#include "veche/model/torch/layers.h"

namespace veche::torch_model {

// What becomes of a forward pass's result before it leaves the cache.
enum class Epilogue { none, relu, add, add_relu };
constexpr bool adds(Epilogue epilogue) { return epilogue == Epilogue::add || epilogue == Epilogue::add_relu; }
constexpr bool has_relu(Epilogue epilogue) {
  return epilogue == Epilogue::relu || epilogue == Epilogue::add_relu;
}

// The passes of one convolution over channels-last images of one size, prepared once: libtorch prepares them
// anew in every call, which costs a small batch a sixth of its time. All tensors are dense and in memory of
// the processor; results are overwritten. Used by one thread at a time, but for what says otherwise.
class ConvPlan {
 public:
  ConvPlan(const ConvOptions& options, at::IntArrayRef images, const at::Tensor& weight, bool bias,
           Epilogue epilogue = Epilogue::none);
  ~ConvPlan();
  bool fits(at::IntArrayRef images, const at::Tensor& weight, bool bias) const;

  bool with_bias() const { return bias_; }

  // A bias is looked at only where the plan is made with one.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) const {
    return forward_ordered(x, ordered(weight), bias, {});
  }
  // The same in two steps, for weights that serve many batches. `summand` is what the epilogue adds, if it
  // does: it becomes the result. Any number of threads may do these at once.
  at::Tensor ordered(const at::Tensor& weight) const;
  at::Tensor forward_ordered(const at::Tensor& x, const at::Tensor& ordered, const at::Tensor& bias,
                             const at::Tensor& summand) const;
  at::Tensor input_gradient(const at::Tensor& dy, const at::Tensor& weight);
  void parameter_gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& dweight,
                           const at::Tensor& dbias);

 private:
  struct Passes;
  const std::vector<std::int64_t> images_;
  const std::vector<std::int64_t> weight_strides_;
  const bool bias_;
  const int threads_;  // it was made for
  const std::unique_ptr<Passes> passes_;
};

}  // namespace veche::torch_model
