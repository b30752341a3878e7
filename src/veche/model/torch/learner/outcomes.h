#pragma once

#include <span>

#include "veche/model/torch/headers.h"
#include "veche/outcome.h"

namespace veche::torch_model {

// Writes the outcome of every sample of a classification.
inline void tell_outcomes(const at::Tensor& logits, const at::Tensor& labels, std::span<Outcome> outcomes) {
  const auto numbers = [](const at::Tensor& tensor) { return tensor.to(at::kCPU, at::kFloat).contiguous(); };
  const at::Tensor losses = numbers(at::cross_entropy_loss(logits, labels, {}, at::Reduction::None));
  const at::Tensor right = numbers(logits.argmax(1).eq(labels));
  const at::Tensor margins =
      logits.size(1) < 2 ? at::zeros_like(losses) : numbers(logits.select(1, 1) - logits.select(1, 0));
  const float *loss = losses.data_ptr<float>(), *correct = right.data_ptr<float>(),
              *margin = margins.data_ptr<float>();
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    outcomes[i] = {.loss = loss[i], .margin = margin[i], .correct = correct[i] > 0};
}

}  // namespace veche::torch_model
