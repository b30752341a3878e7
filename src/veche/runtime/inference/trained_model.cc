#include "veche/runtime/inference/trained_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "veche/base/files/mapped_file.h"
#include "veche/base/text/nesting.h"
#include "veche/config.h"
#include "veche/data/division/node_folders.h"
#include "veche/errors.h"
#include "veche/model/safetensors.h"
#include "veche/model/weights.h"
#include "veche/model/zoo.h"
#include "veche/runtime/inference/model_export.h"
#include "veche/runtime/inference/saved_model.h"
#include "veche/runtime/plan/data_plan.h"

namespace veche {
namespace {

namespace fs = std::filesystem;

void copy_into(Learner& learner, const SavedModel& model, const fs::path& place) {
  if (model.parameters.size() != learner.parameters().size() ||
      model.buffers.size() != learner.buffers().size())
    throw RequestError(place.string() + " has a checkpoint of another model than its config.toml names");
  std::ranges::copy(model.parameters, learner.parameters().begin());
  std::ranges::copy(model.buffers, learner.buffers().begin());
}

// Opens the data as the run did. Reads these sections only: others may name things that this
// program does not know.
DataSource data_of(const RunFolder& run) {
  std::string text;
  for (const char* section : {"run", "model", "data", "cluster"}) text += config_section(run, section);
  Settings settings = Config::from_text(text, run.config().string()).resolve();
  settings.data.vocabulary = vocabulary_of(run);
  if (settings.brings_data)
    throw RequestError(fmt::format("{} was trained without a data set", run.path().string()));
  const OpenOptions how{.context = context_of(settings.model), .scheme = saved_scheme(run.path())};
  if (settings.data.is_in_folders())
    return open_node_folders(settings.data, settings.seed(), settings.nodes(), how).source;
  return open_data(settings.data, settings.seed(), how);
}

}  // namespace

TrainedModel::TrainedModel(const fs::path& place, std::optional<NodeId> node, int threads)
    : place_(place), node_(node) {
  std::error_code unknown;
  if (!fs::exists(place, unknown))
    throw RequestError(
        fmt::format("there is no '{}': name a run's folder, such as runs/NAME, or a file that "
                    "`veche model export` wrote",
                    place.string()));
  if (fs::is_directory(place))
    open_run(node, threads);
  else
    open_weights(node, threads);
  if (const std::string why = not_finite(learner_->parameters(), learner_->buffers()); !why.empty())
    throw RunError(fmt::format("{} of '{}' at step {} {}", who(), place_.string(), step_, why));
}

void TrainedModel::predict(std::span<const float> images, std::span<float> probabilities) {
  predictor_->predict(images, probabilities);
  if (!std::ranges::all_of(probabilities, [](float p) { return std::isfinite(p); }))
    throw RunError(
        fmt::format("{} of '{}' at step {} answers with probabilities that are no numbers: its "
                    "weights are too large, or NaN",
                    who(), place_.string(), step_));
}

void TrainedModel::make_learner_of(const std::string& model_keys, int threads) {
  const Settings settings = Config::from_text(model_keys, place_.string()).resolve();
  spec_.name = settings.model.name;
  spec_.settings = settings.model;
  spec_.options = settings.model.keys;
  spec_.input = input_.shape;
  spec_.task = input_.task;
  spec_.target_mean = input_.target_mean;
  spec_.target_deviation = input_.target_deviation;
  spec_.classes = spec_.task == Task::regression ? 1 : settings.model.classes.value_or(input_.classes);
  spec_.evaluation_threads = threads;
  learner_ = make_learner(spec_);
  predictor_ = dynamic_cast<Predictor*>(learner_.get());
  if (predictor_ == nullptr && spec_.task != Task::language)
    throw RequestError(
        fmt::format("'{}' has the model '{}', which is not a classifier", place_.string(), spec_.name));
}

void TrainedModel::open_run(std::optional<NodeId> node, int threads) {
  const RunFolder run = RunFolder::open(place_);
  FoundModel found = newest_model(run, node);
  const RunLayout layout = layout_for(run, found.model);
  if (layout.model == "quadratic" || layout.model == "vector")
    throw RequestError(
        fmt::format("{} has the model '{}', which is not a classifier", place_.string(), layout.model));
  input_ = layout.input ? *layout.input : input_of(data_of(run));
  make_learner_of(portable_model_keys(run), threads);
  copy_into(*learner_, found.model, place_);
  name_ = run.name();
  step_ = found.step;
  nodes_ = found.nodes;
  stages_ = found.stages;
  averaged_ = found.model.nodes;
  notices_ = std::move(found.notices);
}

void TrainedModel::open_weights(std::optional<NodeId> node, int threads) {
  if (node)
    throw RequestError(fmt::format("'{}' has one model: --node is for a run's folder", place_.string()));
  {
    const MappedFile file(place_);
    const Safetensors content = parse_safetensors(file.bytes(), place_.string());
    const auto keys = content.metadata.find(kModelKeys), sees = content.metadata.find(kModelInput);
    if (keys == content.metadata.end() || sees == content.metadata.end())
      throw RequestError(
          fmt::format("'{}' does not describe its model and input: write it with `veche model "
                      "export` of this version, or name the run's folder",
                      place_.string()));
    try {
      check_json_nesting(sees->second);
      input_ = model_input(nlohmann::json::parse(sees->second));
    } catch (const nlohmann::json::exception&) {
      throw RequestError(
          fmt::format("'{}' is damaged: its note {} cannot be read", place_.string(), kModelInput));
    } catch (const RequestError& error) {
      throw RequestError(
          fmt::format("'{}' is damaged: its note {}: {}", place_.string(), kModelInput, error.what()));
    }
    make_learner_of(keys->second, threads);
    const auto step = content.metadata.find("step");
    if (step != content.metadata.end()) step_ = std::strtoull(step->second.c_str(), nullptr, 10);
  }
  load_weights(*learner_, place_, "");
  name_ = place_.filename().string();
}

void TrainedModel::check_continues_texts() const {
  if (input_.tokenizer == nullptr || dynamic_cast<const Generator*>(learner_.get()) == nullptr)
    throw RequestError(
        fmt::format("'{}' has the model '{}', which was not trained on a text: it cannot continue one",
                    place_.string(), spec_.name));
}

TextWriter TrainedModel::begin_text(std::string_view prompt, const Sampling& how) {
  check_continues_texts();
  return {veche::begin_text(*learner_), input_.tokenizer, prompt, how};
}

std::string TrainedModel::who() const { return who_of(node_, averaged_, stages_); }

bool TrainedModel::become(std::optional<NodeId> node) {
  const RunFolder run = RunFolder::open(place_);
  const CheckpointStore store = CheckpointStore::of_run(run.checkpoints(), run.id());
  try {
    copy_into(*learner_,
              node ? store.read_model(step_, *node, stages_) : store.read_average_model(step_, stages_),
              place_);
  } catch (const Error&) {
    return false;
  }
  node_ = node;
  return true;
}

OperatorGraph TrainedModel::operators() const {
  return operators_of(spec_, learner_->parameters(), learner_->buffers());
}

DataSource TrainedModel::data() const {
  if (nodes_ == 0)
    throw RequestError(
        fmt::format("'{}' does not name its training data: name a set to test", place_.string()));
  return data_of(RunFolder::open(place_));
}

bool continues_texts(const fs::path& place) {
  std::error_code unknown;
  if (fs::is_directory(place, unknown)) return !vocabulary_of(RunFolder::open(place)).empty();
  if (!fs::is_regular_file(place, unknown)) return false;
  const MappedFile file(place);
  const Safetensors content = parse_safetensors(file.bytes(), place.string());
  const auto sees = content.metadata.find(kModelInput);
  if (sees == content.metadata.end()) return false;
  const auto json = nlohmann::json::parse(sees->second, nullptr, false);
  return json.is_object() && json.contains("tokenizer");
}

}  // namespace veche
