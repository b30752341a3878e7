#include "veche/model/zoo.h"

#include <algorithm>

#include "veche/base/errors.h"
#include "veche/base/module.h"
#include "veche/base/nearest.h"
#include "veche/model/engine.h"
#include "veche/model/quadratic.h"

namespace veche {
namespace {

std::unique_ptr<ModelEngine> torch_engine() {
  const Module module{"veche_torch.so", "neural networks", "libtorch-dev"};
  return std::unique_ptr<ModelEngine>(module_function<MakeModelEngine>(module, kModelEngineSymbol)());
}

void check_name(const std::string& name) {
  const std::vector<std::string> names = model_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw RequestError("model.name: there is no model '" + name + "'" + suggestion(name, names));
}

}  // namespace

ModelDescription describe_model(const ModelSpec& spec) {
  check_name(spec.name);
  if (spec.name != "quadratic") return torch_engine()->describe(spec);
  const auto learner = make_quadratic(spec);
  return {learner->parameter_layout(), learner->buffer_layout(), 0};
}

std::unique_ptr<Learner> make_learner(const ModelSpec& spec) {
  check_name(spec.name);
  if (spec.name == "quadratic") return make_quadratic(spec);
  return torch_engine()->make_learner(spec);
}

// Written here and not in the module, so that looking at the list is quick; a test makes each and counts.
const std::vector<ModelInfo>& list_models() {
  static const std::vector<ModelInfo> models = {
      {"cnn",
       "two convolutions with batch norm and three linear layers, for 28x28 grey images",
       {1, 28, 28},
       1'475'338},
      {"mlp", "linear layers with ReLU between them, widths in model.hidden", {1, 28, 28}, 101'770},
      {"resnet20", "residual network of 20 layers for 32x32 colour images", {3, 32, 32}, 269'722},
      {"torchscript", "a module of yours, exported from Python to the file model.file", {}, 0},
      {"quadratic", "1/2 sum a (x-b)^2, a and b per node: exact numbers for testing strategies", {}, 0},
  };
  return models;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelInfo& model : list_models()) names.push_back(model.name);
  return names;
}

bool needs_data(const std::string& model) { return model != "quadratic"; }

}  // namespace veche
