#include "veche/model/zoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "veche/base/module/modules.h"
#include "veche/base/text/nearest.h"
#include "veche/errors.h"
#include "veche/model/engine.h"
#include "veche/model/quadratic.h"
#include "veche/model/vector.h"

namespace veche {

static_assert(kTorchAddressSpace == modules::kTorch.address_space);

namespace {

// Checks the properties that later code relies on.
std::unique_ptr<Learner> make_own(const OwnModel& own, const ModelSpec& spec) {
  std::unique_ptr<Learner> learner = own.make(spec);
  if (learner == nullptr)
    throw RequestError("model.name = \"" + own.name + "\": the program that registered it made no learner");
  const std::size_t parameters = learner->parameters().size();
  const std::size_t gradients = learner->gradients().size();
  if (parameters != gradients)
    throw RequestError("model.name = \"" + own.name + "\": its learner has " + std::to_string(parameters) +
                       " parameters and " + std::to_string(gradients) + " gradients, and as many are needed");
  return learner;
}

// Needs neither libtorch nor data.
bool is_plain(const std::string& model) { return model == "quadratic" || model == "vector"; }

void check_chain(const std::string& model) {
  find_model(model);
  if (own_models().find(model) != nullptr)
    throw RequestError("model.name: '" + model +
                       "' cannot be cut into stages: it is a learner of this program's own, whose blocks are "
                       "not known");
  if (is_plain(model))
    throw RequestError("model.name: '" + model +
                       "' cannot be cut into stages: it is one vector without layers");
}

std::unique_ptr<ModelEngine> torch_engine() {
  return std::unique_ptr<ModelEngine>(
      module_function<MakeModelEngine>(modules::kTorch, kModelEngineSymbol)());
}

}  // namespace

// Declared in veche/torch.h, which needs libtorch.
VECHE_API void* torch_module_symbol(const char* symbol);
void* torch_module_symbol(const char* symbol) { return module_symbol(modules::kTorch, symbol); }

Registry<OwnModel>& own_models() {
  static Registry<OwnModel> models;
  return models;
}

void register_model(OwnModel model) {
  const bool makes = static_cast<bool>(model.make);
  own_models().add(std::move(model), "model", makes, [](const std::string& name) {
    return std::ranges::find(list_models(), name, &ModelInfo::name) != list_models().end() ||
           wide_resnet_name(name).has_value();
  });
}

ModelDescription describe_model(const ModelSpec& spec) {
  find_model(spec.name);
  if (!is_plain(spec.name) && own_models().find(spec.name) == nullptr) return torch_engine()->describe(spec);
  const auto learner = make_learner(spec);
  return {learner->parameter_layout(), learner->buffer_layout(), 0};
}

Learners::Learners() = default;
Learners::~Learners() = default;

std::unique_ptr<Learner> make_learner(const ModelSpec& spec) { return Learners().make(spec); }

std::unique_ptr<Learner> Learners::make(const ModelSpec& spec, Learner* like) {
  find_model(spec.name);
  if (const OwnModel* own = own_models().find(spec.name)) return make_own(*own, spec);
  if (is_plain(spec.name)) {
    if (spec.settings.device != ComputeDevice::cpu)
      throw RequestError("model.device: the " + spec.name +
                         " is computed by the processor; leave the key out");
    if (spec.settings.threads > 1)
      throw RequestError("model.threads: the " + spec.name + " is computed by one thread; leave the key out");
    return spec.name == "vector" ? make_vector(spec) : make_quadratic(spec);
  }
  return torch().make_learner(spec, like);
}

ModelEngine& Learners::torch() {
  if (torch_ == nullptr) torch_ = torch_engine();
  return *torch_;
}

std::unique_ptr<Stage> Learners::make_stage(const ModelSpec& spec, const StageSpec& stage, Learner* like) {
  check_chain(spec.name);
  return torch().make_stage(spec, stage, like);
}

std::vector<BlockDescription> describe_blocks(const ModelSpec& spec) {
  check_chain(spec.name);
  return torch_engine()->describe_blocks(spec);
}

OperatorGraph operators_of(const ModelSpec& spec, std::span<const float> parameters,
                           std::span<const float> buffers) {
  find_model(spec.name);
  const auto refuse = [&](const std::string& why) {
    throw RequestError("model.name: '" + spec.name + "' cannot be written as ONNX: " + why);
  };
  if (own_models().find(spec.name) != nullptr) refuse("it is a learner of this program's own");
  if (is_plain(spec.name)) refuse("it is no network");
  if (spec.name == "torchscript") refuse("it is a module of yours, which PyTorch's torch.onnx.export writes");
  return torch_engine()->operators(spec, parameters, buffers);
}

// Listed here instead of in the module, so that listing is fast; a test makes each model and
// counts.
const std::vector<ModelInfo>& list_models() {
  constexpr Shape digits{1, 28, 28}, cifar{3, 32, 32}, imagenet{3, 224, 224};
  const std::vector<Task> kClassesOrNumbers{Task::classification, Task::regression}, kText{Task::language};
  static const std::vector<ModelInfo> models = {
      {"cnn", "two convolutions with norm and three linear layers", digits, 1'475'338},
      {"lenet5", "LeCun's two convolutions and three linear layers", digits, 61'706},
      {"mlp", "linear layers with ReLU between them, widths in model.hidden", digits, 101'770, 10,
       kClassesOrNumbers},
      {"resnet20", "residual network of 20 layers for small images", cifar, 269'722},
      {"resnet32", "the same with 32 layers", cifar, 464'154},
      {"resnet44", "the same with 44 layers", cifar, 658'586},
      {"resnet56", "the same with 56 layers", cifar, 853'018},
      {"resnet110", "the same with 110 layers", cifar, 1'727'962},
      {"wrn-16-8", "wide residual network, 16 layers, 8 times as wide; any wrn-D-K", cifar, 10'961'370},
      {"wrn-28-10", "wide residual network, 28 layers, 10 times as wide", cifar, 36'479'194},
      {"vit_tiny", "vision transformer, 12 layers of 192, patches of 4x4", cifar, 5'362'762},
      {"resnet18", "residual network of 18 layers", imagenet, 11'689'512, 1000},
      {"resnet34", "residual network of 34 layers", imagenet, 21'797'672, 1000},
      {"resnet50", "residual network of 50 layers", imagenet, 25'557'032, 1000},
      {"wide_resnet50_2", "resnet50 with bottlenecks twice as wide", imagenet, 68'883'240, 1000},
      {"mobilenet_v3_small", "small network for phones", imagenet, 2'542'856, 1000},
      {"mobilenet_v3_large", "larger network for phones", imagenet, 5'483'032, 1000},
      {"shufflenet_v2_x1_0", "depthwise convolutions and shuffled channels", imagenet, 2'278'604, 1000},
      {"squeezenet1_0", "few parameters, no norms", imagenet, 1'248'424, 1000},
      {"squeezenet1_1", "the same with fewer operations", imagenet, 1'235'496, 1000},
      {"efficientnet_v2_s", "fused and depthwise inverted residuals", imagenet, 21'458'488, 1000},
      {"convnext_tiny", "depthwise 7x7 convolutions and perceptrons", imagenet, 28'589'128, 1000},
      {"gpt",
       "transformer for text of any size: layers, heads, width, context",
       {64, 1, 1},
       804'096,
       65,
       kText},
      {"gpt-nano", "4 layers, 4 heads, 128 wide, 64 tokens", {64, 1, 1}, 804'096, 65, kText},
      {"gpt-mini", "6 layers, 6 heads, 384 wide, 256 tokens", {256, 1, 1}, 10'745'088, 65, kText},
      {"gpt2", "GPT-2: 12 layers, 12 heads, 768 wide, 1024 tokens", {1024, 1, 1}, 124'439'808, 50257, kText},
      {"torchscript",
       "a module of yours, exported from Python to the file model.file",
       {},
       0,
       10,
       kClassesOrNumbers},
      {"quadratic", "1/2 sum a (x-b)^2, a and b per node: exact numbers for testing strategies", {}, 0},
      {"vector", "model.length floats that learn nothing: exchange alone", {}, 0},
  };
  return models;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelInfo& model : list_models()) names.push_back(model.name);
  std::ranges::copy(own_models().names(), std::back_inserter(names));
  return names;
}

ModelInfo find_model(const std::string& name) {
  const auto listed = std::ranges::find(list_models(), name, &ModelInfo::name);
  if (listed != list_models().end()) return *listed;
  if (const OwnModel* own = own_models().find(name))
    return {.name = name, .description = "registered by this program", .tasks = own->tasks};
  const auto wide = wide_resnet_name(name);
  if (!wide)
    throw RequestError("model.name: there is no model '" + name + "'" + suggestion(name, model_names()));
  if (wide->depth < 10 || wide->depth % 6 != 4 || wide->width < 1)
    throw RequestError("model.name: '" + name +
                       "' cannot be made; the depth of wrn-D-K is 10, 16, 22, 28 ..: choose wrn-" +
                       std::to_string(std::max(10, (wide->depth - 1) / 6 * 6 + 4)) + "-" +
                       std::to_string(std::max(1, wide->width)));
  return {name, "wide residual network", {3, 32, 32}, 0};
}

std::optional<WideResNetName> wide_resnet_name(const std::string& name) {
  WideResNetName wide;
  char beyond = 0;
  constexpr int kSensible = 4;  // digits; larger networks fit neither memory nor the integers
  if (name.size() > 5 + 2 * kSensible) return std::nullopt;
  if (std::sscanf(name.c_str(), "wrn-%4d-%4d%c", &wide.depth, &wide.width, &beyond) != 2) return std::nullopt;
  return wide;
}

void check_task(const std::string& model, Task task, const std::string& data) {
  const auto learns = [&](const std::vector<Task>& tasks) {
    return std::ranges::find(tasks, task) != tasks.end();
  };
  if (learns(find_model(model).tasks)) return;
  std::vector<std::string> others;
  for (const std::string& name : model_names())
    if (needs_data(name) && learns(find_model(name).tasks)) others.push_back(name);
  std::string choice = "; register a model of your own for them";
  if (!others.empty()) choice = suggestion(model, others);
  throw RequestError(fmt::format("model.name: '{}' cannot learn '{}', whose targets are {}{}", model, data,
                                 targets_of(task), choice));
}

bool needs_data(const std::string& model) {
  if (const OwnModel* own = own_models().find(model)) return own->needs_data;
  return !is_plain(model);
}

}  // namespace veche
