#include "bench/text/task.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "veche/errors.h"
#include "veche/model/generation.h"
#include "veche/model/tensor_layout.h"
#include "veche/random.h"
#include "veche/train/optim/model_step.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr std::size_t kBatches = 8;
constexpr double kRate = 1e-3, kClip = 1;  // as in peer.py
constexpr float kLargerWeights = 5;        // so that no two tokens are about equally likely

ModelSpec spec_of(const std::string& model) {
  ModelSpec spec;
  spec.name = spec.settings.name = model;
  spec.task = Task::language;
  const ModelInfo info = find_model(model);
  spec.input = info.input;
  spec.classes = info.classes;
  spec.settings.dropout = 0.0;
  return spec;
}

std::filesystem::path new_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "veche-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw RunError("cannot make a folder for temporary files: " + name);
  return name;
}

}  // namespace

TextTask::TextTask(const std::string& model, std::size_t batch)
    : batch_(batch), spec_(spec_of(model)), learner_(make_learner(spec_)), folder_(new_folder()) {
  const OptimizerSettings settings{.name = "adamw", .beta2 = 0.99, .weight_decay = 0.1, .decay_norms = false};
  optimizer_ = make_optimizer(settings, layers_of(*learner_));
  for (const TensorLayout& tensor : learner_->parameter_layout())
    if (tensor.shape.size() > 1)
      for (float& weight : learner_->parameters().subspan(tensor.offset, size_of(tensor)))
        weight *= kLargerWeights;

  // Every token tells much about the next one.
  RandomStream stream(spec_.seed, "bench text");
  const auto symbols = static_cast<std::uint64_t>(spec_.classes);
  for (std::uint64_t token = 0; tokens_.size() < kBatches * batch_ * (context() + 1);) {
    token = (5 * token + stream.below(3)) % symbols;
    tokens_.push_back(static_cast<std::int32_t>(token));
  }
  const GptSize size = *gpt_size(spec_.settings);
  request_ = {{"do", "make"},        {"layers", size.layers},   {"heads", size.heads},
              {"width", size.width}, {"context", size.context}, {"symbols", spec_.classes},
              {"batch", batch_}};
  write("weights", learner_->parameters().data(), learner_->parameters().size_bytes());
  write("tokens", tokens_.data(), tokens_.size() * sizeof(std::int32_t));
}

TextTask::~TextTask() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TextTask::write(const std::string& name, const void* data, std::size_t bytes) {
  const std::filesystem::path path = folder_ / name;
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  if (!file.flush()) throw RunError("cannot write " + path.string());
  request_[name] = path.string();
}

std::vector<double> TextTask::train(int steps) {
  const Batch all{.inputs = {}, .labels = {}, .shape = spec_.input, .tokens = tokens_};
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i, ++step_) {
    Batch batch = all.part(step_ % kBatches * batch_, batch_);
    batch.step = step_;
    losses.push_back(learner_->compute_gradient(batch).loss());
    make_step(
        *optimizer_, learner_->parameters(), learner_->gradients(),
        {.step = step_, .rate = kRate, .scale = clip_scale(kClip, squared_norm(learner_->gradients()))});
  }
  return losses;
}

std::vector<std::int32_t> TextTask::prompt(std::size_t tokens) const {
  return {tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(tokens)};
}

std::vector<std::int32_t> TextTask::go_on(std::span<const std::int32_t> prompt, std::size_t count) {
  const auto text = begin_text(*learner_);
  std::vector<std::int32_t> made;
  std::span<const float> logits = text->feed(prompt);
  while (true) {
    made.push_back(static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
    if (made.size() == count) return made;
    logits = text->feed(std::span(made).last(1));
  }
}

}  // namespace veche
