#pragma once

#include <functional>

#include "veche/model/torch/layers/norm.h"

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

// The mean over the pixels.
at::Tensor mean_pixel(const at::Tensor& x, Pass& pass);

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

  struct Part {
    std::vector<std::string> holds;  // the numbers of its modules; none: it has no parameters
    Step forward;
    std::shared_ptr<Chain> chain;  // where it is one itself
  };
  const std::vector<Part>& parts() const { return parts_; }

 private:
  template <class Module>
  std::string name(const std::shared_ptr<Module>& module) {
    register_module(std::to_string(next_), module);
    return std::to_string(next_++);
  }

  // The convolution that is the last part until now, whose part is then taken away and its name put before
  // `names`; null: another is.
  std::shared_ptr<Conv> take_conv(std::vector<std::string>& names);

  std::vector<Part> parts_;
  std::shared_ptr<Conv> last_conv_;
  std::size_t conv_parts_ = 0;  // how many parts there were with it
  int next_ = 0;
};

// torchvision's Conv2dNormActivation: conv_before, norm, activation (may be null).
std::shared_ptr<Block> conv_norm(const ConvOptions& conv, const NormChoice& norm, Activation activation);

// Scales each channel by a function of all channels' means.
std::shared_ptr<Block> squeeze_excitation(int channels, int squeezed, Activation activation,
                                          Activation scale);

}  // namespace veche::torch_model
