#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/model/torch/layers/layers.h"

namespace veche::torch_model {

// Operations applied to a forward result while it is in the cache.
enum class Epilogue { none, relu, add, add_relu };
constexpr bool adds(Epilogue epilogue) { return epilogue == Epilogue::add || epilogue == Epilogue::add_relu; }
constexpr bool has_relu(Epilogue epilogue) {
  return epilogue == Epilogue::relu || epilogue == Epilogue::add_relu;
}

// The passes of one convolution over channels-last images of one size, prepared once. libtorch
// prepares them in every call, which costs a small batch a sixth of its time. All tensors are dense
// and in main memory; results are overwritten unless noted. The plan holds no tensors: any number
// of threads may use it concurrently.
class ConvPlan {
 public:
  // `weights_reused`: the same weights are used for several batches, and data derived from them are
  // cached. `ordered_ahead`: for forward_ordered, with this epilogue.
  ConvPlan(const ConvOptions& options, at::IntArrayRef images, const at::Tensor& weight, bool bias,
           bool weights_reused, std::optional<Epilogue> ordered_ahead = {});
  ~ConvPlan();
  bool fits(const ConvOptions& options, at::IntArrayRef images, const at::Tensor& weight, bool bias,
            bool weights_reused, std::optional<Epilogue> ordered_ahead = {}) const;

  bool with_bias() const { return bias_; }

  // The bias is used only if the plan was made with one. `kept`, if not null, caches data derived
  // from the weights: pass it empty, or as left by a call with the same weights.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                     at::Tensor* kept = nullptr) const;
  // The same in two steps, for weights that serve many batches; requires `ordered_ahead`. `summand`
  // is added by the epilogue and becomes the result.
  at::Tensor ordered(const at::Tensor& weight) const;
  at::Tensor forward_ordered(const at::Tensor& x, const at::Tensor& ordered, const at::Tensor& bias,
                             const at::Tensor& summand) const;
  at::Tensor input_gradient(const at::Tensor& dy, const at::Tensor& weight, at::Tensor* kept = nullptr);
  // `add`: accumulates into the gradients.
  void parameter_gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& dweight,
                           const at::Tensor& dbias, bool add = false);

 private:
  struct Passes;
  const ConvOptions options_;
  const std::vector<std::int64_t> images_;
  const std::vector<std::int64_t> weight_strides_;
  const bool bias_, weights_rest_;
  const std::optional<Epilogue> ordered_ahead_;
  const int threads_;  // the thread count it was made for
  const std::unique_ptr<Passes> passes_;
};

// Plans shared by layers and learners: a thousand nodes with the same network prepare each pass
// once. Any thread.
class ConvPlans {
 public:
  std::shared_ptr<ConvPlan> find_or_make(const ConvOptions& options, at::IntArrayRef images,
                                         const at::Tensor& weight, bool bias, bool weights_reused,
                                         std::optional<Epilogue> ordered_ahead = {});

 private:
  Mutex mutex_;
  std::vector<std::shared_ptr<ConvPlan>> plans_ VECHE_GUARDED_BY(mutex_);
};

}  // namespace veche::torch_model
