#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "veche/base/module/module_api.h"
#include "veche/base/module/registry.h"
#include "veche/learner.h"
#include "veche/model/stage.h"
#include "veche/model_spec.h"
#include "veche/register.h"

namespace veche {

// Bytes that the module of neural networks needs: libtorch, the 288 libraries that it brings along, and room
// for a batch. With less, libraries crash instead of reporting that memory has run out.
inline constexpr double kTorchAddressSpace = 1.5e9;

struct ModelInfo {
  std::string name;
  std::string description;
  Shape input = {};             // the usual one; empty where there is none
  std::int64_t parameters = 0;  // for the usual input of the model; 0 where the user decides
  int classes = 10;             // the usual number, which `parameters` is for
};

// What a model costs, without its numbers.
struct ModelDescription {
  std::vector<TensorLayout> parameters;
  std::vector<TensorLayout> buffers;
  std::int64_t multiply_adds = 0;  // of convolutions and matrix products, for one sample forward
};

class ModelEngine;
struct OperatorGraph;

// Makes learners that share what they prepare for their passes: for many nodes, make them with one of these.
// It may go before they do.
class Learners {
 public:
  Learners();
  ~Learners();
  // Loads libtorch's module when the model needs it. Throws RequestError for a model that does not exist or
  // does not fit the input, with the nearest valid choice. `like`, made from a spec that is equal but for
  // `node`, has its initial values still: where they can be copied they need not be made again.
  std::unique_ptr<Learner> make(const ModelSpec& spec, Learner* like = nullptr);
  // A part of it. RequestError also for a model that cannot be cut, with the reason. `like`: another of the
  // same part.
  std::unique_ptr<Stage> make_stage(const ModelSpec& spec, const StageSpec& stage, Learner* like = nullptr);

 private:
  ModelEngine& torch();

  std::unique_ptr<ModelEngine> torch_;  // once it was needed
};
// One alone.
std::unique_ptr<Learner> make_learner(const ModelSpec& spec);
// Of the same model: counted in a real pass, not looked up.
ModelDescription describe_model(const ModelSpec& spec);

// The blocks between which it can be cut. RequestError where it cannot.
std::vector<BlockDescription> describe_blocks(const ModelSpec& spec);

// The network of the spec with these numbers, which lie as in its learner's vectors, in words that other
// programs know. RequestError where there are none: a model of somebody's own, or one without layers.
OperatorGraph operators_of(const ModelSpec& spec, std::span<const float> parameters,
                           std::span<const float> buffers);

// All models, whether or not their module is there; loads nothing.
const std::vector<ModelInfo>& list_models();
std::vector<std::string> model_names();
// One of the list, or any wrn-D-K (its parameters not counted). Throws RequestError, with the nearest valid
// choice, for another name.
ModelInfo find_model(const std::string& name);
// "wrn-28-10" is the wide residual network of 28 layers, 10 times as wide; any depth 6 n + 4 and any width
// will do. None for a name of another form.
struct WideResNetName {
  int depth = 0;
  int width = 0;
};
VECHE_MODULE_API std::optional<WideResNetName> wide_resnet_name(const std::string& name);
// Those that the program has registered.
Registry<OwnModel>& own_models();
// Whether the model brings its own data (the quadratic does).
bool needs_data(const std::string& model);

}  // namespace veche
