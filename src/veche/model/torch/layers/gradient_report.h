#pragma once

#include "veche/learner.h"
#include "veche/model/torch/headers.h"

namespace veche::torch_model {

// Tells a learner's listener which parts of the flat gradient are final. Layers call it from their
// backward pass, on the learner's thread.
class GradientReport {
 public:
  explicit GradientReport(const float* gradients) : gradients_(gradients) {}

  // Gradients are accumulated, as for later micro-batches of a batch.
  bool adds = false;
  // More micro-batches follow: nothing is final yet.
  bool unfinished = false;
  // While true, the parameters do not change, and layers may cache data derived from them.
  bool parameters_fixed = false;

  void listen(GradientListener listener) { listener_ = std::move(listener); }
  void final(const at::Tensor& gradient) const {
    if (!listener_ || unfinished) return;
    const auto from = static_cast<std::size_t>(gradient.data_ptr<float>() - gradients_);
    listener_(from, from + static_cast<std::size_t>(gradient.numel()));
  }

 private:
  const float* const gradients_;  // start of the flat vector
  GradientListener listener_;
};

}  // namespace veche::torch_model
