#pragma once

// For programs that bring a network written with libtorch's C++ API. The only header here that needs
// libtorch.

#include <torch/torch.h>

#include <functional>
#include <memory>

#include "veche/export.h"
#include "veche/learner.h"
#include "veche/model_spec.h"

namespace veche {

using TorchForward = std::function<at::Tensor(const at::Tensor& images)>;
// What libtorch's module of Veche exports, as extern "C"; the caller owns the learner.
using MakeTorchLearner = Learner*(std::shared_ptr<torch::nn::Module>, TorchForward, const ModelSpec&);
inline constexpr char kTorchLearnerSymbol[] = "veche_torch_learner";
// Loads that module when it is first asked for; throws RequestError when it is missing.
VECHE_API void* torch_module_symbol(const char* symbol);

// A learner around a module of one's own, which keeps the weights it comes with. `forward` turns images
// (N, C, H, W) into logits (N, classes); of the spec the input, the classes, the seed, the node and the
// options label_smoothing and device are used. From now on the module's tensors are views of the learner's
// vectors: replace none. Dropout and other random operations in it are repeatable. Throws RequestError when
// input and classes do not fit.
inline std::unique_ptr<Learner> make_torch_learner(std::shared_ptr<torch::nn::Module> module,
                                                   TorchForward forward, const ModelSpec& spec) {
  auto* const make = reinterpret_cast<MakeTorchLearner*>(torch_module_symbol(kTorchLearnerSymbol));
  return std::unique_ptr<Learner>(make(std::move(module), std::move(forward), spec));
}

// The same for a module whose forward takes the images and nothing else.
template <class Net>
std::unique_ptr<Learner> make_torch_learner(std::shared_ptr<Net> module, const ModelSpec& spec) {
  return make_torch_learner(
      module, [net = module.get()](const at::Tensor& images) { return net->forward(images); }, spec);
}

}  // namespace veche
