#pragma once

#include <optional>
#include <span>
#include <vector>

#include "veche/learner.h"
#include "veche/model/torch/headers.h"

namespace veche::torch_model {

using Named = torch::OrderedDict<std::string, at::Tensor>;

// The trained tensors of a module, and its other tensors: buffers and frozen parameters. Each
// appears once, under its first name. Non-float tensors are omitted.
Named trained_tensors(const torch::nn::Module& network);
Named other_tensors(const torch::nn::Module& network);
// Their layout in the flat vector; convolution weights may be channels-last.
std::vector<TensorLayout> lay_out(const Named& tensors, bool channels_last);

// Moves the tensors of a network into contiguous vectors, keeping their values. Every parameter,
// gradient and buffer becomes a view of its vector and must not be replaced afterwards. Non-float
// tensors stay outside.
class Flat {
 public:
  Flat(const torch::nn::Module& network, bool channels_last);

  // Makes the network's tensors views of copies on this device, with the same layout. The vectors
  // themselves stay in main memory.
  void move_to_device(torch::nn::Module& network, const at::Device& device);
  // Copies parameters and buffers to the device before a pass, and gradients and buffers back after
  // it. No-ops without device copies.
  void copy_to_device() const;
  void copy_from_device() const;

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
  std::optional<Copies> device_copies_;
};

}  // namespace veche::torch_model
