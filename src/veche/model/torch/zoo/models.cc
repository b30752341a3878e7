#include "veche/model/torch/zoo/models.h"

#include <fmt/format.h>

#include <new>

#include "veche/base/machine/memory.h"
#include "veche/errors.h"
#include "veche/model/torch/import/imported.h"
#include "veche/model/torch/layers/norm.h"
#include "veche/model/torch/options.h"

namespace veche::torch_model {
namespace {

// The keys of [model] that a network supports.
struct Understands {
  const char* norm = "any";  // any; some: all but none; else the only one; null: it has its own
  bool stem = false;
  bool dropout = false;
  bool stochastic_depth = false;
};

struct Model {
  std::string name;
  std::function<std::shared_ptr<Network>(const ModelSpec&)> make;
  Understands keys;
};

Model cifar_resnet(int depth) {
  return {"resnet" + std::to_string(depth),
          [depth](const ModelSpec& spec) { return make_cifar_resnet(spec, depth); },
          {}};
}

Model resnet(const std::string& name, int depth, int width) {
  return {name,
          [depth, width](const ModelSpec& spec) { return make_resnet(spec, depth, width); },
          {.stem = true}};
}

Model find(const std::string& name) {
  static const std::vector<Model> models = {
      {"cnn", make_cnn, {.dropout = true}},
      {"lenet5", make_lenet5, {.norm = "none"}},
      {"mlp", make_mlp, {.norm = "none"}},
      cifar_resnet(20),
      cifar_resnet(32),
      cifar_resnet(44),
      cifar_resnet(56),
      cifar_resnet(110),
      resnet("resnet18", 18, 1),
      resnet("resnet34", 34, 1),
      resnet("resnet50", 50, 1),
      resnet("wide_resnet50_2", 50, 2),
      {"mobilenet_v3_small", make_mobilenet_v3_small, {.norm = "some", .stem = true, .dropout = true}},
      {"mobilenet_v3_large", make_mobilenet_v3_large, {.norm = "some", .stem = true, .dropout = true}},
      {"shufflenet_v2_x1_0", make_shufflenet_v2_x1_0, {.norm = "some", .stem = true}},
      {"squeezenet1_0", make_squeezenet1_0, {.norm = "none", .stem = true, .dropout = true}},
      {"squeezenet1_1", make_squeezenet1_1, {.norm = "none", .stem = true, .dropout = true}},
      {"efficientnet_v2_s",
       make_efficientnet_v2_s,
       {.norm = "some", .stem = true, .dropout = true, .stochastic_depth = true}},
      {"convnext_tiny", make_convnext_tiny, {.norm = "layer", .stem = true, .stochastic_depth = true}},
      {"torchscript", make_script, {.norm = nullptr}},
      {"gpt", make_gpt, {.norm = "layer", .dropout = true}},
      {"gpt-nano", make_gpt, {.norm = "layer", .dropout = true}},
      {"gpt-mini", make_gpt, {.norm = "layer", .dropout = true}},
      {"gpt2", make_gpt, {.norm = "layer", .dropout = true}},
      {"vit_tiny", make_vit_tiny, {.norm = "layer", .stem = true, .dropout = true}},
  };
  for (const Model& model : models)
    if (model.name == name) return model;
  if (const auto wide = wide_resnet_name(name))
    return {name, [wide](const ModelSpec& spec) { return make_wide_resnet(spec, *wide); }, {.dropout = true}};
  throw RequestError("model.name: there is no network '" + name + "' in this build; rebuild Veche");
}

void check_norm(const ModelSpec& spec, const char* norms) {
  if (!spec.settings.norm) return;
  if (norms == nullptr)
    throw RequestError("model.norm: '" + spec.name + "' comes with its own; leave the key out");
  const std::string understood = norms;
  const std::string& norm = *spec.settings.norm;
  const NormChoice choice = norm_of(spec);
  if (understood == "any") return;
  if (understood == "some") {
    if (choice.kind == NormChoice::Kind::none)
      throw RequestError("model.norm: '" + spec.name +
                         "' does not train without norms; choose batch, group:G or layer");
  } else if (norm != understood) {
    throw RequestError("model.norm: '" + spec.name + "' cannot have the norm '" + norm +
                       "'; leave the key out or choose " + understood);
  }
}

void check_probability(const ModelSpec& spec, const char* key, const std::optional<double>& given,
                       bool understood) {
  if (!understood && given.value_or(0.0) != 0)
    throw RequestError("model." + std::string(key) + ": '" + spec.name +
                       "' has none; leave the key out or set it to 0");
}

void check_stem(const ModelSpec& spec, bool understood) {
  if (!understood && spec.settings.stem != ModelStem::automatic)
    throw RequestError("model.stem: '" + spec.name + "' has one beginning only; leave the key out");
}

// The key that makes it too large.
std::string too_large(const ModelSpec& spec) {
  return (spec.settings.hidden ? "model.hidden: '" : "model.name: '") + spec.name + "'";
}

// The largest number of groups, below the requested one, that divides all channel counts.
int nearest_groups(const Model& model, ModelSpec spec, int groups) {
  while (--groups > 1) {
    spec.settings.norm = "group:" + std::to_string(groups);
    try {
      model.make(spec);
      break;
    } catch (const GroupsDoNotFit&) {
    }
  }
  return std::max(groups, 1);
}

// Checks the memory for parameters and gradients. Nothing has been written to them yet, so none is
// in use.
void check_size(const ModelSpec& spec, const Network& network) {
  double numbers = 0;
  for (const at::Tensor& tensor : network.parameters()) numbers += static_cast<double>(tensor.numel());
  check_memory(2 * sizeof(float) * numbers, too_large(spec) + fmt::format(" with {:.0f} parameters", numbers),
               "choose a smaller one");
}

}  // namespace

std::shared_ptr<Network> make_network(const ModelSpec& spec, bool whole) {
  if (spec.classes < 2 && spec.task != Task::regression)
    throw RequestError("model.classes must be at least 2");
  if (spec.input.size() == 0) throw RequestError("model.name: '" + spec.name + "' needs data with samples");
  const Model model = find(spec.name);
  check_norm(spec, model.keys.norm);
  check_stem(spec, model.keys.stem);
  check_probability(spec, "dropout", spec.settings.dropout, model.keys.dropout);
  check_probability(spec, "stochastic_depth", spec.settings.stochastic_depth, model.keys.stochastic_depth);
  try {
    const std::shared_ptr<Network> network = model.make(spec);
    if (whole) check_size(spec, *network);
    return network;
  } catch (const std::bad_alloc&) {
    throw RequestError(too_large(spec) + " is larger than this machine's memory: choose a smaller one");
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw RequestError(too_large(spec) + " cannot be made: " + text.substr(0, text.find('\n')));
  } catch (const GroupsDoNotFit& misfit) {
    const int groups = norm_of(spec).groups;
    throw RequestError("model.norm: " + std::to_string(groups) + " groups do not divide the " +
                       std::to_string(misfit.channels) + " channels of a layer of '" + spec.name +
                       "'; choose group:" + std::to_string(nearest_groups(model, spec, groups)));
  }
}

}  // namespace veche::torch_model
