#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "veche/model/torch/layers/conv_plan.h"

namespace veche::torch_model {

// What a norm with stored statistics makes of each channel: y = x * scale + shift.
struct ChannelScale {
  std::vector<float> scale;
  std::vector<float> shift;
};

// The convolutions of one evaluation, each with the norm behind it folded into its weights and bias, which
// lie in the order that the processor wants. Good for as long as nobody writes to parameters or buffers. Any
// number of threads.
class FoldedConvs {
 public:
  explicit FoldedConvs(ConvPlans& plans) : plans_(plans) {}

  // norm(conv(x)), then what the epilogue says; a summand becomes the result. `norm` is asked once.
  at::Tensor run(const Conv& conv, const std::function<ChannelScale()>& norm, const at::Tensor& x,
                 Epilogue epilogue, const at::Tensor& summand = {});

 private:
  struct Ready {  // for images of one size
    std::shared_ptr<const ConvPlan> plan;
    at::Tensor weight;
  };
  struct Folded {
    at::Tensor weight;
    at::Tensor bias;
    std::vector<Ready> sizes;
  };
  static Folded fold(const Conv& conv, const ChannelScale& norm);

  ConvPlans& plans_;
  std::mutex mutex_;
  std::unordered_map<const Conv*, Folded> folded_;  // guarded by mutex_
};

}  // namespace veche::torch_model
