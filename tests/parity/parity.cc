// parity DIR: trains small cases for 20 steps and writes to DIR what another program needs to
// repeat them, and the losses it should see. index.json lists the cases; numbers are raw float32
// (labels int64), tensors in PyTorch's names and plain order, images NCHW.
#include <iostream>
#include <optional>

#include "tests/parity/folder.h"
#include "tests/support/cut_model.h"
#include "veche/model/zoo.h"
#include "veche/random.h"
#include "veche/train/optim/optimizer.h"

namespace veche {
namespace {

using nlohmann::json;

constexpr std::uint64_t kSteps = 20;

struct Case {
  std::string model;
  std::string optimizer;
  double rate;
  Shape input;
  std::size_t batch;
  double label_smoothing = 0;
  double weight_decay = 0;
  bool decay_norms = true;
  int stages = 1;  // several: with the gradients of micro-batches summed
  int micro_batches = 1;
};

// The residual network is chaotic at the rates of real training: one ReLU that rounding switches
// changes the losses ten steps later by percents, in PyTorch with itself in another memory layout
// too. Hence its small rates.
const Case kCases[] = {
    {"cnn", "sgd", 0.01, {1, 28, 28}, 25},
    {"cnn", "adam", 0.0003, {1, 28, 28}, 25},
    {"resnet20", "sgd", 0.0003, {3, 32, 32}, 32},
    {"resnet20", "adam", 0.00003, {3, 32, 32}, 32},
    {"resnet20", "sgd", 0.0003, {1, 28, 28}, 25},
    {"mlp", "sgd", 0.01, {1, 28, 28}, 25},
    {"mlp", "adamw", 0.001, {1, 12, 12}, 25, 0.1, 0.5, false},
    {"cnn", "sgd", 0.01, {1, 12, 12}, 25, 0.2, 0.05, false},
    {"cnn", "lars", 1.0, {1, 12, 12}, 25, 0, 0.01, true},
    {"cnn", "lars", 0.1, {1, 12, 12}, 25, 0, 0.01, false},
    {"cnn", "sgd", 0.01, {1, 12, 12}, 25, 0, 0, true, 3, 4},
    {"mlp", "adam", 0.001, {1, 12, 12}, 25, 0.1, 0, true, 2, 8},
    {"resnet20", "sgd", 0.0003, {3, 32, 32}, 30, 0, 0, true, 4, 4},
};

std::unique_ptr<Optimizer> optimizer_of(const Case& c, Learner& learner) {
  const OptimizerSettings settings{
      .name = c.optimizer, .momentum = 0.9, .weight_decay = c.weight_decay, .decay_norms = c.decay_norms};
  return make_optimizer(settings, layers_of(learner));
}

// One learner, or stages that are one together.
class Model {
 public:
  Model(const Case& c, const ModelSpec& spec) : case_(c) {
    if (c.stages == 1)
      whole_ = make_learner(spec);
    else
      cut_.emplace(spec, c.stages);
    const ModelDescription described = describe_model(spec);
    layout_ = described.parameters;
    for (Learner* part : parts()) optimizers_.push_back(optimizer_of(c, *part));
  }

  const std::vector<TensorLayout>& layout() const { return layout_; }
  std::vector<float> joined(std::span<float> (Learner::*vector)()) const {
    std::vector<float> all;
    for (Learner* part : parts()) {
      const std::span<float> mine = (part->*vector)();
      all.insert(all.end(), mine.begin(), mine.end());
    }
    return all;
  }
  Score gradient(const Batch& batch) {
    return whole_ ? whole_->compute_gradient(batch)
                  : cut_->step(batch, Schedule::one_f_one_b, case_.micro_batches);
  }
  void update(const Optimizer::Step& step) {
    const std::vector<Learner*> all = parts();
    for (std::size_t i = 0; i < all.size(); ++i)
      optimizers_[i]->update(all[i]->parameters(), all[i]->gradients(), step);
  }
  Score evaluate(const Batch& batch) { return whole_ ? whole_->evaluate(batch) : cut_->test(batch); }

 private:
  std::vector<Learner*> parts() const {
    if (whole_) return {whole_.get()};
    std::vector<Learner*> all;
    for (const auto& stage : cut_->all) all.push_back(stage.get());
    return all;
  }

  const Case& case_;
  std::unique_ptr<Learner> whole_;
  std::optional<testing::CutModel> cut_;
  std::vector<TensorLayout> layout_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
};

json run(Folder& folder, const Case& c, std::size_t number) {
  ModelSpec spec;
  spec.name = c.model;
  spec.input = c.input;
  spec.settings.dropout = 0.0;
  spec.settings.label_smoothing = c.label_smoothing;
  Model model(c, spec);

  // The label shows in the brightness, so that there is something to learn.
  RandomStream stream(5, "parity", number);
  std::vector<std::int64_t> labels(kSteps * c.batch);
  std::vector<float> images(labels.size() * c.input.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<std::int64_t>(stream.below(10));
    for (std::size_t p = 0; p < c.input.size(); ++p)
      images[i * c.input.size() + p] =
          static_cast<float>(stream.normal() + 0.2 * static_cast<double>(labels[i] - 5));
  }

  const std::string prefix = std::to_string(number) + ".";
  json result{{"model", c.model}, {"optimizer", c.optimizer}, {"rate", c.rate}, {"batch", c.batch}};
  result["label_smoothing"] = c.label_smoothing;
  result["weight_decay"] = c.weight_decay;
  result["decay_norms"] = c.decay_norms;
  result["micro_batches"] = c.micro_batches;
  result["channels"] = c.input.channels;
  result["side"] = c.input.height;
  result["weights"] = folder.write_tensors(prefix, model.layout(), model.joined(&Learner::parameters));
  result["images"] = folder.write(prefix + "images", channels_first(images, c.input));
  result["labels"] = folder.write(prefix + "labels", labels);
  Batch batch;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const std::size_t start = step * c.batch;
    batch = {std::span(images).subspan(start * c.input.size(), c.batch * c.input.size()),
             std::span(labels).subspan(start, c.batch), c.input, step};
    result["losses"].push_back(model.gradient(batch).loss());
    if (step == 0)
      result["gradients"] =
          folder.write_tensors(prefix + "gradient.", model.layout(), model.joined(&Learner::gradients));
    model.update({.rate = c.rate, .gradient_scale = 1, .number = step + 1});
  }
  const Score score = model.evaluate(batch);
  result["evaluation"] = score.loss();
  result["correct"] = score.correct;
  return result;
}

}  // namespace
}  // namespace veche

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: parity DIR\n";
    return 2;
  }
  try {
    veche::Folder folder{argv[1]};
    nlohmann::json index = nlohmann::json::array();
    for (const veche::Case& c : veche::kCases) index.push_back(veche::run(folder, c, index.size()));
    folder.write_index(index);
  } catch (const std::exception& error) {
    std::cerr << "parity: " << error.what() << '\n';
    return 1;
  }
}
