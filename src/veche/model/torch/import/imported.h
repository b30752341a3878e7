#pragma once

#include <functional>

#include "veche/model/torch/layers/network.h"

namespace veche::torch_model {

// Imported networks, not built by Veche. They keep their weights, receive images in PyTorch's
// default order (N, C, H, W), and train by autograd.

// The TorchScript module in model.file. Throws RequestError naming the file.
std::shared_ptr<Network> make_script(const ModelSpec& spec);

// A module from the calling program.
std::shared_ptr<Network> wrap(std::shared_ptr<torch::nn::Module> module,
                              std::function<at::Tensor(const at::Tensor&)> forward);

// The same images (N, C, H, W) in PyTorch's contiguous layout. Grey images need explicit strides:
// libtorch would take them for channels-last, which they also are, and propagate that layout.
at::Tensor plain_order(const at::Tensor& images);

// The relevant part of a libtorch error message.
std::string last_line(const std::string& text);

// Throws RequestError, starting with `who`, unless images of the spec's shape give logits for its
// classes and gradients reach the parameters.
void check_output(Network& network, const ModelSpec& spec, const std::string& who);

}  // namespace veche::torch_model
