#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "veche/model/torch/layers/layers.h"

namespace veche::torch_model {

// What becomes of a forward pass's result before it leaves the cache.
enum class Epilogue { none, relu, add, add_relu };
constexpr bool adds(Epilogue epilogue) { return epilogue == Epilogue::add || epilogue == Epilogue::add_relu; }
constexpr bool has_relu(Epilogue epilogue) {
  return epilogue == Epilogue::relu || epilogue == Epilogue::add_relu;
}

// The passes of one convolution over channels-last images of one size, prepared once: libtorch prepares them
// anew in every call, which costs a small batch a sixth of its time. All tensors are dense and in memory of
// the processor; results are overwritten but where it says otherwise. Holds none of them: any number of
// threads may use it at a time.
class ConvPlan {
 public:
  // `weights_rest`: the same ones serve several batches, and what is made of them is kept. `ordered_ahead`:
  // for forward_ordered, with this epilogue.
  ConvPlan(const ConvOptions& options, at::IntArrayRef images, const at::Tensor& weight, bool bias,
           bool weights_rest, std::optional<Epilogue> ordered_ahead = {});
  ~ConvPlan();
  bool fits(const ConvOptions& options, at::IntArrayRef images, const at::Tensor& weight, bool bias,
            bool weights_rest, std::optional<Epilogue> ordered_ahead = {}) const;

  bool with_bias() const { return bias_; }

  // A bias is looked at only where the plan is made with one. `kept`, if not null, is left with what was made
  // of the weights, and spares making it the next time: nothing, or what it was left with by the same
  // weights.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                     at::Tensor* kept = nullptr) const;
  // The same in two steps, for weights that serve many batches: where the plan was made so. `summand` is what
  // the epilogue adds, if it does: it becomes the result.
  at::Tensor ordered(const at::Tensor& weight) const;
  at::Tensor forward_ordered(const at::Tensor& x, const at::Tensor& ordered, const at::Tensor& bias,
                             const at::Tensor& summand) const;
  at::Tensor input_gradient(const at::Tensor& dy, const at::Tensor& weight, at::Tensor* kept = nullptr);
  // `add`: to what the gradients hold.
  void parameter_gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& dweight,
                           const at::Tensor& dbias, bool add = false);

 private:
  struct Passes;
  const ConvOptions options_;
  const std::vector<std::int64_t> images_;
  const std::vector<std::int64_t> weight_strides_;
  const bool bias_, weights_rest_;
  const std::optional<Epilogue> ordered_ahead_;
  const int threads_;  // it was made for
  const std::unique_ptr<Passes> passes_;
};

// Plans that layers and learners share: a thousand nodes with the same network prepare each pass once. Any
// thread.
class ConvPlans {
 public:
  std::shared_ptr<ConvPlan> find_or_make(const ConvOptions& options, at::IntArrayRef images,
                                         const at::Tensor& weight, bool bias, bool weights_rest,
                                         std::optional<Epilogue> ordered_ahead = {});

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<ConvPlan>> plans_;  // guarded by mutex_
};

}  // namespace veche::torch_model
