#pragma once

#include <span>
#include <vector>

#include "veche/model/learner.h"
#include "veche/model/torch/headers.h"

namespace veche::torch_model {

using Named = torch::OrderedDict<std::string, at::Tensor>;

// Where tensors will lie in their flat vector: convolution weights channels-last, those of anything but
// floats nowhere.
std::vector<TensorLayout> float_layout(const Named& tensors);

// The tensors of a network moved into contiguous vectors with the values they hold: from then on every
// parameter, gradient and buffer is a view of its vector, and stays one as long as nobody replaces it.
// Convolution weights lie channels-last. Tensors of anything but floats stay outside.
class Flat {
 public:
  explicit Flat(torch::nn::Module& network);

  std::span<float> parameters() const { return span(parameters_); }
  std::span<float> gradients() const { return span(gradients_); }
  std::span<float> buffers() const { return span(buffers_); }
  const std::vector<TensorLayout>& parameter_layout() const { return parameter_layout_; }
  const std::vector<TensorLayout>& buffer_layout() const { return buffer_layout_; }

 private:
  static std::span<float> span(const at::Tensor& flat) {
    return {flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())};
  }

  std::vector<TensorLayout> parameter_layout_;
  std::vector<TensorLayout> buffer_layout_;
  at::Tensor parameters_;
  at::Tensor gradients_;
  at::Tensor buffers_;
};

}  // namespace veche::torch_model
