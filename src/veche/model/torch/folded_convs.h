#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "veche/model/torch/conv_plan.h"

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
  // norm(conv(x)), then what the epilogue says; a summand becomes the result. `norm` is asked once.
  at::Tensor run(const Conv& conv, const std::function<ChannelScale()>& norm, const at::Tensor& x,
                 Epilogue epilogue, const at::Tensor& summand = {});

 private:
  struct Ready {  // for images of one size
    Ready(const Conv& conv, at::IntArrayRef images, const at::Tensor& folded, Epilogue epilogue)
        : plan(conv.options(), images, folded, true, epilogue), weight(plan.ordered(folded)) {}
    const ConvPlan plan;
    const at::Tensor weight;
  };
  struct Folded {
    at::Tensor weight;
    at::Tensor bias;
    std::vector<std::unique_ptr<Ready>> sizes;
  };
  static Folded fold(const Conv& conv, const ChannelScale& norm);

  std::mutex mutex_;
  std::unordered_map<const Conv*, Folded> folded_;  // guarded by mutex_; what is in it stays
};

}  // namespace veche::torch_model
