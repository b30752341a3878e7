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

}  // namespace

std::unique_ptr<Learner> make_learner(const ModelSpec& spec) {
  const std::vector<std::string> names = model_names();
  if (std::find(names.begin(), names.end(), spec.name) == names.end())
    throw RequestError("model.name: there is no model '" + spec.name + "'" + suggestion(spec.name, names));
  if (spec.name == "quadratic") return make_quadratic(spec);
  return torch_engine()->make_learner(spec);
}

std::vector<ModelInfo> list_models() {
  std::vector<ModelInfo> models = torch_engine()->list_models();
  models.push_back(
      {"quadratic", "1/2 sum a (x-b)^2, a and b per node: exact numbers for testing strategies", 0});
  return models;
}

// The torch module's list is repeated here so that checking a configuration loads nothing; a test compares
// them.
std::vector<std::string> model_names() {
  return {"cnn", "mlp", "resnet20", "quadratic"};
}

bool needs_data(const std::string& model) {
  return model != "quadratic";
}

}  // namespace veche
