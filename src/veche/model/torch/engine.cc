#include "veche/model/engine.h"

#include "veche/base/errors.h"
#include "veche/base/nearest.h"
#include "veche/model/torch/allocator.h"
#include "veche/model/torch/cost.h"
#include "veche/model/torch/foreign.h"
#include "veche/model/torch/learner.h"
#include "veche/model/torch/network.h"

namespace veche::torch_model {
namespace {

std::vector<Model> models() {
  return {
      {"cnn", make_cnn},
      {"mlp", make_mlp},
      {"resnet20", make_resnet20},
      {"torchscript", make_script},
  };
}

std::shared_ptr<Network> make_network(const ModelSpec& spec) {
  if (spec.classes < 2) throw RequestError("model.classes must be at least 2");
  if (spec.input.size() == 0) throw RequestError("model.name: '" + spec.name + "' needs data with samples");
  if (const auto norm = spec.options.get<std::string>("norm", "batch"); norm != "batch")
    throw RequestError("model.norm: there is no norm '" + norm + "'; choose batch");
  for (const Model& model : models())
    if (model.name == spec.name) return model.make(spec);
  throw RequestError("model.name: there is no network '" + spec.name + "' in this build; rebuild Veche");
}

class TorchEngine : public ModelEngine {
 public:
  std::unique_ptr<Learner> make_learner(const ModelSpec& spec) const override {
    return std::make_unique<TorchLearner>(make_network(spec), spec);
  }

  ModelDescription describe(const ModelSpec& spec) const override {
    const std::shared_ptr<Network> network = make_network(spec);
    const bool channels_last = network->channels_last();
    return {lay_out(trained_tensors(network->module()), channels_last),
            lay_out(other_tensors(network->module()), channels_last), multiply_adds(*network, spec.input)};
  }
};

}  // namespace
}  // namespace veche::torch_model

extern "C" veche::ModelEngine* veche_model_engine() {
  veche::torch_model::install_allocator();
  return new veche::torch_model::TorchEngine;
}

// What veche/torch.h asks for.
extern "C" veche::Learner* veche_torch_learner(std::shared_ptr<torch::nn::Module> module,
                                               std::function<at::Tensor(const at::Tensor&)> forward,
                                               const veche::ModelSpec& spec) {
  using namespace veche::torch_model;
  install_allocator();
  const auto network = wrap(std::move(module), std::move(forward));
  check_output(*network, spec, "the module");
  return new TorchLearner(network, spec);
}
