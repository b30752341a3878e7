#pragma once

// Conversions between batches and libtorch, shared by learners and stages.

#include <string>

#include "veche/batch.h"
#include "veche/errors.h"
#include "veche/model/torch/headers.h"

namespace veche::torch_model {

inline constexpr std::int64_t kNoLabelIgnored = -100;  // labels were checked and are not negative

// The batch's own memory as a channels-last tensor.
inline at::Tensor images_of(const Batch& batch) {
  const std::int64_t n = static_cast<std::int64_t>(batch.size());
  const std::int64_t c = batch.shape.channels, h = batch.shape.height, w = batch.shape.width;
  return at::from_blob(const_cast<float*>(batch.images.data()), {n, c, h, w}, {h * w * c, 1, w * c, c},
                       at::kFloat);
}

inline at::Tensor labels_of(const Batch& batch) {
  return at::from_blob(const_cast<std::int64_t*>(batch.labels.data()),
                       {static_cast<std::int64_t>(batch.size())}, at::kLong);
}

inline Score score(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& mean_loss) {
  at::NoGradGuard guard;
  const std::int64_t count = labels.numel();
  return {.loss_sum = mean_loss.item<double>() * static_cast<double>(count),
          .correct = logits.argmax(1).eq(labels).sum().item<std::int64_t>(),
          .count = count};
}

// Runs `work`; shortens libtorch's error messages, which contain pages of addresses.
template <class Work>
auto explained(Work work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw RunError("libtorch failed: " + text.substr(0, text.find('\n')));
  }
}

inline void check_labels(const Batch& batch, int classes) {
  for (const std::int64_t label : batch.labels)
    if (label < 0 || label >= classes)
      throw RequestError("the data hold the label " + std::to_string(label) + ", but model.classes is " +
                         std::to_string(classes));
}

inline void check_images(const Batch& batch, const Shape& input) {
  if (batch.shape != input || batch.images.size() != batch.size() * input.size() || batch.size() == 0)
    throw RequestError("a batch does not have the shape the model was made for");
}

}  // namespace veche::torch_model
