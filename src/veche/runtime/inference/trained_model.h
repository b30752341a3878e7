#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/data/sets/source.h"
#include "veche/learner.h"
#include "veche/model/operators.h"
#include "veche/model/predictor.h"
#include "veche/model_spec.h"
#include "veche/node_id.h"
#include "veche/runtime/inference/model_input.h"
#include "veche/runtime/inference/text_writer.h"

namespace veche {

// A trained model that answers questions. Read from a run's folder, in which another process may be
// training, or from a safetensors file that `veche model export` has written. One thread at a time.
class TrainedModel {
 public:
  // `node`: the node whose model to take; none: the averaged model. `threads`: how many an answer
  // may use. Throws RequestError where there is no such run, file or node, or the model has no
  // classes; RunError where weights are NaN or infinite.
  explicit TrainedModel(const std::filesystem::path& place, std::optional<NodeId> node = {}, int threads = 1);

  const ModelInput& input() const { return input_; }
  int classes() const { return predictor_ != nullptr ? predictor_->classes() : spec_.classes; }
  const std::string& model() const { return spec_.name; }  // "cnn"
  const std::string& name() const { return name_; }        // of the run, or the file
  std::string who() const;                                 // "the average of 4 nodes", "node 2"
  std::uint64_t step() const { return step_; }
  int nodes() const { return nodes_; }  // whose own models can be read; 0: none, this is a file
  const std::vector<std::string>& notices() const { return notices_; }
  std::size_t parameters() const { return learner_->parameters().size(); }

  // Becomes the model of another node of the same checkpoint, or the average again; false: the run
  // has removed the checkpoint.
  bool become(std::optional<NodeId> node);

  // As Predictor::predict. Throws RunError where the answer is NaN.
  void predict(std::span<const float> images, std::span<float> probabilities);

  // A language model continues a text: begins one. Throws RequestError for another model, or a
  // prompt that it cannot read.
  TextWriter begin_text(std::string_view prompt, const Sampling& how);
  void check_continues_texts() const;

  // The model as standard operators, from normalised samples to logits. Throws RequestError for a
  // model that they cannot express.
  OperatorGraph operators() const;

  // Opens the data that the run was trained on, from the path in its configuration. Throws
  // RequestError, also for a file of weights.
  DataSource data() const;

 private:
  void open_run(std::optional<NodeId> node, int threads);
  void open_weights(std::optional<NodeId> node, int threads);
  void make_learner_of(const std::string& model_keys, int threads);

  const std::filesystem::path place_;
  std::string name_;
  ModelSpec spec_;
  ModelInput input_;
  std::uint64_t step_ = 0;
  int nodes_ = 0;
  int stages_ = 1;
  int averaged_ = 1;
  std::optional<NodeId> node_;
  std::vector<std::string> notices_;
  std::unique_ptr<Learner> learner_;
  Predictor* predictor_ = nullptr;  // the learner, by its other interface; null: of a text
};

// Whether a run or a file of weights has a language model, without reading its weights.
bool continues_texts(const std::filesystem::path& place);

}  // namespace veche
