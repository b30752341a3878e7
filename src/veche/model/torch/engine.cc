#include "veche/model/engine.h"

#include "veche/base/errors.h"
#include "veche/base/nearest.h"
#include "veche/model/torch/allocator.h"
#include "veche/model/torch/learner.h"
#include "veche/model/torch/network.h"

namespace veche::torch_model {
namespace {

std::vector<Model> models() {
  return {
      {{"cnn", "two convolutions with batch norm and three linear layers, for 28x28 grey images", 1'475'338},
       make_cnn},
      {{"mlp", "linear layers with ReLU between them, widths in model.hidden", 101'770}, make_mlp},
      {{"resnet20", "residual network of 20 layers for 32x32 colour images", 269'722}, make_resnet20},
  };
}

class TorchEngine : public ModelEngine {
 public:
  std::unique_ptr<Learner> make_learner(const ModelSpec& spec) const override {
    if (spec.classes < 2) throw RequestError("model.classes must be at least 2");
    if (spec.input.size() == 0) throw RequestError("model.name: '" + spec.name + "' needs data with samples");
    if (const auto norm = spec.options.get<std::string>("norm", "batch"); norm != "batch")
      throw RequestError("model.norm: there is no norm '" + norm + "'; choose batch");
    for (const Model& model : models())
      if (model.info.name == spec.name) return std::make_unique<TorchLearner>(model.make(spec), spec);
    throw RequestError("model.name: there is no network '" + spec.name + "' in this build; rebuild Veche");
  }

  std::vector<ModelInfo> list_models() const override {
    std::vector<ModelInfo> result;
    for (const Model& model : models()) result.push_back(model.info);
    return result;
  }
};

}  // namespace
}  // namespace veche::torch_model

extern "C" veche::ModelEngine* veche_model_engine() {
  veche::torch_model::install_allocator();
  return new veche::torch_model::TorchEngine;
}
