#pragma once

#include <optional>
#include <span>
#include <vector>

#include "veche/learner.h"
#include "veche/model/torch/headers.h"

namespace veche::torch_model {

using Named = torch::OrderedDict<std::string, at::Tensor>;

// The tensors of a module that are trained, and those that only belong to it: buffers and frozen parameters.
// Each once, under its first name; those of anything but floats are left out.
Named trained_tensors(const torch::nn::Module& network);
Named other_tensors(const torch::nn::Module& network);
// Where they will lie in their flat vector; convolution weights may lie channels-last.
std::vector<TensorLayout> lay_out(const Named& tensors, bool channels_last);

// The tensors of a network moved into contiguous vectors with the values they hold: from then on every
// parameter, gradient and buffer is a view of its vector, and stays one as long as nobody replaces it.
// Tensors of anything but floats stay outside.
class Flat {
 public:
  Flat(const torch::nn::Module& network, bool channels_last);

  // From now on the network's tensors are views of copies on this device instead, with the same layout. The
  // vectors stay where they are.
  void move_away(torch::nn::Module& network, const at::Device& device);
  // Parameters and buffers to the copies before a pass, gradients and buffers from them after it. Nothing
  // where there are none.
  void send() const;
  void fetch() const;

  std::span<float> parameters() const { return span(parameters_); }
  std::span<float> gradients() const { return span(gradients_); }
  std::span<float> buffers() const { return span(buffers_); }
  const std::vector<TensorLayout>& parameter_layout() const { return parameter_layout_; }
  const std::vector<TensorLayout>& buffer_layout() const { return buffer_layout_; }

 private:
  static std::span<float> span(const at::Tensor& flat) {
    return {flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())};
  }

  void bind(const torch::nn::Module& network, const at::Tensor& parameters, const at::Tensor& gradients,
            const at::Tensor& buffers) const;

  struct Copies {
    at::Tensor parameters, gradients, buffers;
  };

  std::vector<TensorLayout> parameter_layout_;
  std::vector<TensorLayout> buffer_layout_;
  at::Tensor parameters_;
  at::Tensor gradients_;
  at::Tensor buffers_;
  std::optional<Copies> away_;
};

}  // namespace veche::torch_model
