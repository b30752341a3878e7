#pragma once

#include "veche/learner.h"
#include "veche/model/torch/headers.h"

namespace veche::torch_model {

// Tells a learner's listener which parts of the flat gradient are final. Layers call it from their backward
// pass, in the learner's own thread.
class GradientReport {
 public:
  explicit GradientReport(const float* gradients) : gradients_(gradients) {}

  // Whether the gradients of the pass are added to what is there, as those of a later part of a batch.
  bool adds = false;
  // More parts follow: nothing is final yet.
  bool unfinished = false;
  // Nobody writes to the parameters until this is false again: layers keep what they have made of them.
  bool parameters_rest = false;

  void listen(GradientListener listener) { listener_ = std::move(listener); }
  void final(const at::Tensor& gradient) const {
    if (!listener_ || unfinished) return;
    const auto from = static_cast<std::size_t>(gradient.data_ptr<float>() - gradients_);
    listener_(from, from + static_cast<std::size_t>(gradient.numel()));
  }

 private:
  const float* const gradients_;  // where the flat vector begins
  GradientListener listener_;
};

}  // namespace veche::torch_model
