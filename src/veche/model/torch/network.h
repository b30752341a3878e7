#pragma once

#include "veche/batch.h"
#include "veche/model/torch/headers.h"
#include "veche/model/zoo.h"
#include "veche/random.h"

namespace veche::torch_model {

class FoldedConvs;

// One way through a network.
struct Pass {
  bool training = false;
  RandomStream dropout;  // drawn from in the order of the layers; a function of seed, node and step alone
  FoldedConvs* folded =
      nullptr;  // of the evaluation it belongs to, in which nothing is learnt; none: another
};

// A model of the module: images (N, C, H, W in channels-last order) to logits (N, classes). Parameters and
// buffers are registered under PyTorch's names, without values: initialise() gives them.
class Network : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& images, Pass& pass) = 0;
  // Writes the initial parameters and buffers, in place; all randomness comes from the seed.
  virtual void initialise(std::uint64_t seed) = 0;

  // Whose tensors make the flat vectors, and whether kernels lie channels-last there.
  virtual torch::nn::Module& module() { return *this; }
  virtual bool channels_last() const { return true; }
  // Whether logits of a part of a batch are those of the whole, and several threads may make them at once
  // when nothing is learnt.
  virtual bool samples_apart() const { return true; }
};

}  // namespace veche::torch_model
