#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "veche/base/module/registry.h"
#include "veche/base/module_api.h"
#include "veche/learner.h"
#include "veche/model/stage.h"
#include "veche/model_spec.h"
#include "veche/register.h"

namespace veche {

// Address space in bytes for the module of neural networks: libtorch, its 288 libraries, and a
// batch. With less, libraries crash instead of reporting that memory has run out.
inline constexpr double kTorchAddressSpace = 1.5e9;

struct ModelInfo {
  std::string name;
  std::string description;
  Shape input = {};                                  // the usual input; empty if there is none
  std::int64_t parameters = 0;                       // for the usual input; 0 if the user decides
  int classes = 10;                                  // the usual number of classes, assumed by `parameters`
  std::vector<Task> tasks = {Task::classification};  // that it can learn
};

// The cost of a model, without its values.
struct ModelDescription {
  std::vector<TensorLayout> parameters;
  std::vector<TensorLayout> buffers;
  std::int64_t multiply_adds = 0;  // of convolutions and matrix products, forward, per sample
};

class ModelEngine;
struct OperatorGraph;

// Makes learners that share prepared passes; use one object for many nodes. Learners may outlive
// it.
class Learners {
 public:
  Learners();
  ~Learners();
  // Loads the libtorch module if the model needs it. Throws RequestError, with the nearest valid
  // choice, if the model does not exist or does not fit the input. `like` is a learner made from a
  // spec that differs only in `node` and still has its initial values; they may be copied instead
  // of drawn again.
  std::unique_ptr<Learner> make(const ModelSpec& spec, Learner* like = nullptr);
  // Makes one stage of a model. Throws RequestError, with the reason, also if the model cannot be
  // cut. `like`: another learner of the same stage.
  std::unique_ptr<Stage> make_stage(const ModelSpec& spec, const StageSpec& stage, Learner* like = nullptr);

 private:
  ModelEngine& torch();

  std::unique_ptr<ModelEngine> torch_;  // created on first use
};
// Makes a single learner.
std::unique_ptr<Learner> make_learner(const ModelSpec& spec);
// The cost of a model, measured in a real pass.
ModelDescription describe_model(const ModelSpec& spec);

// The blocks between which a model can be cut. Throws RequestError if it cannot be cut.
std::vector<BlockDescription> describe_blocks(const ModelSpec& spec);

// The network of the spec with these values (laid out as in its learner's vectors) as ONNX
// operators. Throws RequestError for models without such a form: registered models, and models
// without layers.
OperatorGraph operators_of(const ModelSpec& spec, std::span<const float> parameters,
                           std::span<const float> buffers);

// All models, whether or not their module is installed; loads nothing.
const std::vector<ModelInfo>& list_models();
std::vector<std::string> model_names();
// A model of the list, or any wrn-D-K (without the number of parameters). Throws RequestError, with
// the nearest valid choice, for other names.
ModelInfo find_model(const std::string& name);
// "wrn-28-10" is the wide residual network with 28 layers, 10 times as wide. Any depth 6 n + 4 and
// any width are valid. nullopt for names of another form.
struct WideResNetName {
  int depth = 0;
  int width = 0;
};
VECHE_MODULE_API std::optional<WideResNetName> wide_resnet_name(const std::string& name);
// Throws RequestError, with the models that fit, if a model cannot learn the task of the data set
// `data`.
void check_task(const std::string& model, Task task, const std::string& data);
// Models registered by the program.
Registry<OwnModel>& own_models();
// Whether the model needs a data set; the quadratic brings its own data.
bool needs_data(const std::string& model);

}  // namespace veche
