#pragma once

#include <functional>

#include "veche/model/torch/layers/network.h"

namespace veche::torch_model {

// Networks that Veche did not make. They keep the weights they come with, are given images in PyTorch's plain
// order (N, C, H, W), and train by plain autograd.

// The TorchScript module of the file model.file. Throws RequestError naming the file.
std::shared_ptr<Network> make_script(const ModelSpec& spec);

// A module of the caller's own program.
std::shared_ptr<Network> wrap(std::shared_ptr<torch::nn::Module> module,
                              std::function<at::Tensor(const at::Tensor&)> forward);

// The same images (N, C, H, W), each number where PyTorch's modules expect it. Grey images need strides that
// say so: libtorch would take them for channels-last, which they also are, and hand that order on.
at::Tensor plain_order(const at::Tensor& images);

// Of what libtorch has to say the part that tells what is wrong.
std::string last_line(const std::string& text);

// Throws RequestError, beginning with `who`, unless images of the spec's shape give logits for its classes
// and gradients lead from them to parameters.
void check_output(Network& network, const ModelSpec& spec, const std::string& who);

}  // namespace veche::torch_model
