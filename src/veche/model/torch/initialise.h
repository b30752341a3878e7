#pragma once

#include <cstdint>

#include "veche/model/torch/layers.h"

namespace veche::torch_model {

// Gives values to the tensors of a network one after the other. Each draws from a stream of its own, in
// PyTorch's order of elements whatever the order in memory, so that layout and other layers do not matter.
class Initialiser {
 public:
  explicit Initialiser(std::uint64_t seed) : seed_(seed) {}

  // PyTorch's default: weights and biases uniform within 1 / sqrt(inputs of one unit).
  void uniform(Conv& layer);
  void uniform(Linear& layer);
  // He et al.: weights normal with variance 2 / inputs of one unit; biases as above.
  void normal(Conv& layer);
  void normal(Linear& layer);
  // Identity: scale 1, shift 0, running statistics of unit variance.
  void identity(BatchNorm& layer);

 private:
  template <class Draw>
  void fill(at::Tensor& tensor, Draw draw);
  void fill_uniform(at::Tensor& tensor, double bound);
  void fill_normal(at::Tensor& tensor, double deviation);

  std::uint64_t seed_;
  std::uint64_t tensor_ = 0;
};

}  // namespace veche::torch_model
