#pragma once

#include <functional>

#include "veche/model/torch/layers/norm.h"

namespace veche::torch_model {

using Activation = at::Tensor (*)(const at::Tensor& x);
at::Tensor relu(const at::Tensor& x);
at::Tensor hardswish(const at::Tensor& x);
at::Tensor silu(const at::Tensor& x);

// A part of a network with one input and one output.
class Block : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x, Pass& pass) = 0;
};

// The mean over all pixels (global average pooling).
at::Tensor mean_pixel(const at::Tensor& x, Pass& pass);

// PyTorch's Sequential: steps are named by number, whether or not they have parameters.
class Chain : public Block {
 public:
  at::Tensor forward(const at::Tensor& x, Pass& pass) override;

  Chain& add(std::shared_ptr<Block> block);
  Chain& add(std::shared_ptr<Conv> conv);
  Chain& add(std::shared_ptr<Linear> linear);
  Chain& add(std::shared_ptr<Norm> norm);
  Chain& add_relu(std::shared_ptr<Norm> norm);  // a norm and its ReLU: two steps
  Chain& add(std::function<at::Tensor(const at::Tensor&)> function);
  Chain& add_dropout(double probability);

  struct Part {
    std::vector<std::string> holds;  // the numbers of its modules; empty: no parameters
    Step forward;
    std::shared_ptr<Chain> chain;  // set if the part is itself a chain
  };
  const std::vector<Part>& parts() const { return parts_; }

 private:
  template <class Module>
  std::string name(const std::shared_ptr<Module>& module) {
    register_module(std::to_string(next_), module);
    return std::to_string(next_++);
  }

  // Removes the last part if it is a convolution, prepends its name to `names` and returns it;
  // otherwise null.
  std::shared_ptr<Conv> take_conv(std::vector<std::string>& names);

  std::vector<Part> parts_;
  std::shared_ptr<Conv> last_conv_;
  std::size_t conv_parts_ = 0;  // number of parts including it
  int next_ = 0;
};

// torchvision's Conv2dNormActivation: conv_before, norm, activation (may be null).
std::shared_ptr<Block> conv_norm(const ConvOptions& conv, const NormChoice& norm, Activation activation);

// Squeeze-and-excitation: scales each channel by a function of all channels' means.
std::shared_ptr<Block> squeeze_excitation(int channels, int squeezed, Activation activation,
                                          Activation scale);

}  // namespace veche::torch_model
