#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/model/torch/layers/conv_plan.h"

namespace veche::torch_model {

// A norm with stored statistics as an affine map per channel: y = x * scale + shift.
struct ChannelScale {
  std::vector<float> scale;
  std::vector<float> shift;
};

// The convolutions of one evaluation, each with its norm folded into weights and bias, in the
// memory layout that the processor prefers. Valid while parameters and buffers do not change. Any
// number of threads.
class FoldedConvs {
 public:
  explicit FoldedConvs(ConvPlans& plans) : plans_(plans) {}

  // norm(conv(x)) followed by the epilogue; a summand becomes the result. `norm` is called once.
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
  Mutex mutex_;
  std::unordered_map<const Conv*, Folded> folded_ VECHE_GUARDED_BY(mutex_);
};

}  // namespace veche::torch_model
