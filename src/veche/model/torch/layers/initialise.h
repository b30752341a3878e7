#pragma once

#include <cstdint>

#include "veche/model/torch/layers/norm.h"

namespace veche::torch_model {

// Distribution of a tensor's initial values: uniform within +-size, or normal with deviation
// `size`. Size 0 means zeros.
struct Draw {
  enum class Shape { uniform, normal };
  Shape shape = Shape::uniform;
  double size = 0;
};

// Maps the weight of a layer to the distribution of that weight, or of the bias beside it.
using Rule = Draw (*)(const at::Tensor& weight);
Draw zeros(const at::Tensor& weight);
Draw usual(const at::Tensor& weight);           // PyTorch's default: uniform within 1 / sqrt(fan-in)
Draw he_inputs(const at::Tensor& weight);       // He et al.: normal, variance 2 / fan-in
Draw he_outputs(const at::Tensor& weight);      // normal, variance 2 / fan-out
Draw he_uniform(const at::Tensor& weight);      // uniform, variance 2 / fan-in
Draw xavier_uniform(const at::Tensor& weight);  // uniform, variance 2 / (fan-in + fan-out)

struct Scheme {
  Rule conv = usual;
  Rule conv_bias = usual;
  Rule linear = usual;
  Rule linear_bias = usual;
};

// Initialises the tensors of a network. Each tensor has its own random stream, drawn in PyTorch's
// element order, so memory layout and other layers have no influence.
class Initialiser {
 public:
  explicit Initialiser(std::uint64_t seed) : seed_(seed) {}

  // Initialises every Conv, Linear and norm, in order of registration. The caller handles other
  // parameters.
  void fill(torch::nn::Module& network, const Scheme& scheme);
  void fill(at::Tensor& tensor, const Draw& draw);

 private:
  const std::uint64_t seed_;
  std::uint64_t tensor_ = 0;
};

// Without norms, the sum over a residual network's many branches would grow: their last
// convolutions start at zero.
template <class Branches>
void zero_last_convs(const Branches& branches, const NormChoice& norm, Initialiser& init) {
  if (norm.kind != NormChoice::Kind::none) return;
  for (const auto& branch : branches) init.fill(branch->last().weight, {});
}

}  // namespace veche::torch_model
