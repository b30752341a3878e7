#pragma once

#include <functional>

#include "veche/model/torch/norm.h"

namespace veche::torch_model {

using Activation = at::Tensor (*)(const at::Tensor& x);
at::Tensor relu(const at::Tensor& x);
at::Tensor hardswish(const at::Tensor& x);
at::Tensor silu(const at::Tensor& x);

// A part of a network with one way through it.
class Block : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x, Pass& pass) = 0;
};

// PyTorch's Sequential: each step has its number for a name, whether or not it has parameters.
class Chain : public Block {
 public:
  at::Tensor forward(const at::Tensor& x, Pass& pass) override;

  Chain& add(std::shared_ptr<Block> block);
  Chain& add(std::shared_ptr<Conv> conv);
  Chain& add(std::shared_ptr<Linear> linear);
  Chain& add(std::shared_ptr<Norm> norm);
  Chain& add_relu(std::shared_ptr<Norm> norm);  // the norm and the ReLU behind it: two steps
  Chain& add(std::function<at::Tensor(const at::Tensor&)> function);
  Chain& add_dropout(double probability);

 private:
  using Step = std::function<at::Tensor(const at::Tensor&, Pass&)>;
  template <class Module>
  void name(const std::shared_ptr<Module>& module) {
    register_module(std::to_string(next_++), module);
  }

  // The convolution that is the last step until now, whose step is then taken away; null: another is.
  std::shared_ptr<Conv> take_conv();

  std::vector<Step> steps_;
  std::shared_ptr<Conv> last_conv_;
  std::size_t conv_steps_ = 0;  // how many steps there were with it
  int next_ = 0;
};

// torchvision's Conv2dNormActivation: conv_before, norm, activation (may be null).
std::shared_ptr<Block> conv_norm(const ConvOptions& conv, const NormChoice& norm, Activation activation);

// Scales each channel by a function of all channels' means.
std::shared_ptr<Block> squeeze_excitation(int channels, int squeezed, Activation activation,
                                          Activation scale);

}  // namespace veche::torch_model
