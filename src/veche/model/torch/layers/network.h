#pragma once

#include <functional>

#include "veche/batch.h"
#include "veche/model/torch/headers.h"
#include "veche/model/zoo.h"
#include "veche/random.h"

namespace veche::torch_model {

class Chain;
class FoldedConvs;

// One forward pass through a network.
struct Pass {
  bool training = false;
  RandomStream dropout;           // drawn from in layer order; depends only on seed, node and step
  FoldedConvs* folded = nullptr;  // set in an evaluation; null in training
  at::Tensor shared_rows = {};    // in a stage: Network::shared_rows() as sent by the first stage
};

using Step = std::function<at::Tensor(const at::Tensor& x, Pass& pass)>;

// One link of a chain; the network can be cut before and after it.
struct Link {
  std::string name;                // "layer1.0"
  std::vector<std::string> holds;  // its tensors have these names, or these names and a dot as prefix
  Step forward;
};

// A model of the torch module: images (N, C, H, W, channels-last) to logits (N, classes), or tokens
// (N, length) to logits (N, length, classes).
// Parameters and buffers are registered under PyTorch's names without values; initialise() sets
// them.
class Network : public torch::nn::Module {
 public:
  // Runs the links in order.
  virtual at::Tensor forward(const at::Tensor& images, Pass& pass);
  // Writes the initial parameters and buffers in place; all randomness comes from the seed.
  virtual void initialise(std::uint64_t seed) = 0;

  // The module whose tensors form the flat vectors, and whether its kernels are channels-last
  // there.
  virtual torch::nn::Module& module() { return *this; }
  virtual bool channels_last() const { return true; }
  // Whether the logits of a part of a batch equal those in the whole batch, and several threads may
  // compute them concurrently in evaluation.
  virtual bool independent_samples() const { return true; }

  // The links, if the network is a chain; otherwise empty. Each has parameters.
  const std::vector<Link>& links() const { return links_; }
  // Weights of the first link that the last one uses too, as rows of the width of the activation
  // between all links; undefined: none.
  virtual at::Tensor shared_rows() const { return {}; }
  // Why there are none, for a person.
  virtual std::string why_not_chain() const { return "it is not a chain of blocks"; }

 protected:
  // Appends a link to the chain.
  void link(std::string name, std::vector<std::string> holds, Step forward);
  // Appends a module with a forward pass, registered under this name.
  template <class Block>
  void link_block(const std::string& name, std::shared_ptr<Block> block) {
    link(name, {name}, [block](const at::Tensor& x, Pass& pass) { return block->forward(x, pass); });
  }
  // Appends every step of a chain registered under this name. Steps without parameters join the
  // preceding link.
  void link(const std::string& name, const Chain& chain);
  // Adds a step without parameters to the next link, or to the last one at the end.
  void before_next(Step step);
  void after_last(Step step);

 private:
  std::vector<Link> links_;
  Step before_next_;
};

}  // namespace veche::torch_model
