#pragma once

#include <functional>

#include "veche/batch.h"
#include "veche/model/torch/headers.h"
#include "veche/model/zoo.h"
#include "veche/random.h"

namespace veche::torch_model {

class Chain;
class FoldedConvs;

// One way through a network.
struct Pass {
  bool training = false;
  RandomStream dropout;  // drawn from in the order of the layers; a function of seed, node and step alone
  FoldedConvs* folded =
      nullptr;  // of the evaluation it belongs to, in which nothing is learnt; none: another
};

using Step = std::function<at::Tensor(const at::Tensor& x, Pass& pass)>;

// A link of a network that is a chain: it can be cut before and behind.
struct Link {
  std::string name;                // "layer1.0"
  std::vector<std::string> holds;  // its tensors' names are these or begin with them and a dot
  Step forward;
};

// A model of the module: images (N, C, H, W in channels-last order) to logits (N, classes). Parameters and
// buffers are registered under PyTorch's names, without values: initialise() gives them.
class Network : public torch::nn::Module {
 public:
  // The links one after the other.
  virtual at::Tensor forward(const at::Tensor& images, Pass& pass);
  // Writes the initial parameters and buffers, in place; all randomness comes from the seed.
  virtual void initialise(std::uint64_t seed) = 0;

  // Whose tensors make the flat vectors, and whether kernels lie channels-last there.
  virtual torch::nn::Module& module() { return *this; }
  virtual bool channels_last() const { return true; }
  // Whether logits of a part of a batch are those of the whole, and several threads may make them at once
  // when nothing is learnt.
  virtual bool samples_apart() const { return true; }

  // What it is made of, if it is a chain. Each has parameters.
  const std::vector<Link>& links() const { return links_; }
  // Why it has none, for a person.
  virtual std::string why_whole() const { return "it is not a chain of blocks"; }

 protected:
  // Builds the chain from its beginning.
  void link(std::string name, std::vector<std::string> holds, Step forward);
  // A module with a pass through it, registered under this name.
  template <class Block>
  void link_block(const std::string& name, std::shared_ptr<Block> block) {
    link(name, {name}, [block](const at::Tensor& x, Pass& pass) { return block->forward(x, pass); });
  }
  // Every step of a chain that is registered under this name; those without parameters go with the one
  // before.
  void link(const std::string& name, const Chain& chain);
  // What has no parameters: part of the next link, or of the one before.
  void before_next(Step step);
  void after_last(Step step);

 private:
  std::vector<Link> links_;
  Step before_next_;
};

}  // namespace veche::torch_model
