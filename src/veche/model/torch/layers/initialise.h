#pragma once

#include <cstdint>

#include "veche/model/torch/layers/norm.h"

namespace veche::torch_model {

// How a tensor is drawn: uniform within +-size or normal with deviation `size`; of size 0, zeros.
struct Draw {
  enum class Shape { uniform, normal };
  Shape shape = Shape::uniform;
  double size = 0;
};

// From the weight of a layer, how that weight, or the bias beside it, is drawn.
using Rule = Draw (*)(const at::Tensor& weight);
Draw zeros(const at::Tensor& weight);
Draw usual(const at::Tensor& weight);           // PyTorch's: uniform within 1 / sqrt(inputs of one unit)
Draw he_inputs(const at::Tensor& weight);       // He et al.: normal, variance 2 / inputs of one unit
Draw he_outputs(const at::Tensor& weight);      // normal, variance 2 / outputs fed by one unit
Draw he_uniform(const at::Tensor& weight);      // uniform, variance 2 / inputs of one unit
Draw xavier_uniform(const at::Tensor& weight);  // uniform, variance 2 / (inputs + outputs)

struct Scheme {
  Rule conv = usual;
  Rule conv_bias = usual;
  Rule linear = usual;
  Rule linear_bias = usual;
};

// Gives values to the tensors of a network one after the other. Each draws from a stream of its own, in
// PyTorch's order of elements whatever the order in memory, so that layout and other layers do not matter.
class Initialiser {
 public:
  explicit Initialiser(std::uint64_t seed) : seed_(seed) {}

  // Every Conv, Linear and norm inside, in the order of registration. Other parameters are the caller's.
  void fill(torch::nn::Module& network, const Scheme& scheme);
  void fill(at::Tensor& tensor, const Draw& draw);

 private:
  const std::uint64_t seed_;
  std::uint64_t tensor_ = 0;
};

// Without norms nothing would keep the sum of a residual network's many branches from growing: their last
// convolutions begin at zero.
template <class Branches>
void quieten(const Branches& branches, const NormChoice& norm, Initialiser& init) {
  if (norm.kind != NormChoice::Kind::none) return;
  for (const auto& branch : branches) init.fill(branch->last().weight, {});
}

}  // namespace veche::torch_model
