#pragma once

// For programs with a network written in libtorch's C++ API. The only public header that needs
// libtorch.

#include <torch/torch.h>

#include <functional>
#include <memory>

#include "veche/export.h"
#include "veche/learner.h"
#include "veche/model_spec.h"

namespace veche {

using TorchForward = std::function<at::Tensor(const at::Tensor& images)>;
// Exported with extern "C" by Veche's libtorch module. The caller owns the learner.
using MakeTorchLearner = Learner*(std::shared_ptr<torch::nn::Module>, TorchForward, const ModelSpec&);
inline constexpr char kTorchLearnerSymbol[] = "veche_torch_learner";
// Address of a symbol of the libtorch module. The first call loads the module. Throws RequestError
// if it is missing.
VECHE_API void* torch_module_symbol(const char* symbol);

// Makes a learner from a module. The module keeps its current weights. `forward` maps images (N, C,
// H, W) to logits (N, classes). The spec supplies the input shape, classes, seed, node and the
// settings label_smoothing and device. The module's tensors become views of the learner's vectors
// and must not be replaced afterwards. Dropout and other random operations in the module are
// repeatable. Throws RequestError if the input shape or the classes do not fit.
inline std::unique_ptr<Learner> make_torch_learner(std::shared_ptr<torch::nn::Module> module,
                                                   TorchForward forward, const ModelSpec& spec) {
  auto* const make = reinterpret_cast<MakeTorchLearner*>(torch_module_symbol(kTorchLearnerSymbol));
  return std::unique_ptr<Learner>(make(std::move(module), std::move(forward), spec));
}

// The same for a module whose forward takes only the images.
template <class Net>
std::unique_ptr<Learner> make_torch_learner(std::shared_ptr<Net> module, const ModelSpec& spec) {
  return make_torch_learner(
      module, [net = module.get()](const at::Tensor& images) { return net->forward(images); }, spec);
}

}  // namespace veche
