// gpt DIR: DIR/index.json lists language models, each with a safetensors file of its weights and a
// file of tokens (int32), windows of context + 1. Gives ours those weights, as model.init does, and
// writes to DIR/N.safetensors what it has then and what came out: `weight.*`, `logits` of the first
// window, token by token with a cache, a text that it goes on with far past its context (`greedy`, with
// the `greedy.logits` before each token), `loss` and `gradient.*` of the first batch, from one learner
// and from stages (`cut.gradient.*`), and the `losses` of a few steps of AdamW. Writes the model as
// ONNX, too.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/support/cut_model.h"
#include "veche/base/files/files.h"
#include "veche/model/generation.h"
#include "veche/model/onnx/onnx_file.h"
#include "veche/model/weights.h"
#include "veche/model/zoo.h"
#include "veche/train/optim/optimizer.h"

namespace veche {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

ModelSpec spec_of(const json& c) {
  ModelSpec spec;
  spec.name = c.at("model");
  spec.task = Task::language;
  spec.classes = c.at("symbols");
  spec.settings.name = spec.name;
  spec.settings.layers = c.at("layers").get<int>();
  spec.settings.heads = c.at("heads").get<int>();
  spec.settings.width = c.at("width").get<int>();
  spec.settings.context = c.at("context").get<int>();
  spec.settings.bias = c.at("bias").get<bool>();
  spec.settings.tied = c.at("tied").get<bool>();
  spec.input = {*spec.settings.context, 1, 1};
  return spec;
}

template <class T>
std::vector<T> read(const fs::path& file) {
  std::vector<T> values(fs::file_size(file) / sizeof(T));
  std::ifstream(file, std::ios::binary)
      .read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(fs::file_size(file)));
  return values;
}

void add(SafetensorsWriter& writer, const std::string& prefix, std::vector<TensorLayout> layout,
         std::span<const float> flat) {
  for (TensorLayout& tensor : layout) tensor.name.insert(0, prefix);
  add_tensors(writer, layout, flat);
}

std::vector<float> logits(Learner& learner, std::span<const std::int32_t> tokens) {
  std::vector<float> all;
  const auto text = begin_text(learner);
  for (const std::int32_t token : tokens) {
    const std::span<const float> some = text->feed(std::span(&token, 1));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// The likeliest token again and again.
void add_greedy_text(SafetensorsWriter& writer, Learner& learner, std::span<const std::int32_t> prompt,
                     std::size_t length) {
  const auto text = begin_text(learner);
  std::vector<float> tokens, all;
  std::span<const float> next = text->feed(prompt);
  for (std::size_t i = 0; i < length; ++i) {
    all.insert(all.end(), next.begin(), next.end());
    const auto token = static_cast<std::int32_t>(std::ranges::max_element(next) - next.begin());
    tokens.push_back(static_cast<float>(token));
    next = text->feed(std::span(&token, 1));
  }
  const auto rows = static_cast<std::int64_t>(length);
  writer.add("greedy", {rows}, tokens);
  writer.add("greedy.logits", {rows, text->vocabulary()}, all);
}

void add_gradient_of_stages(SafetensorsWriter& writer, const ModelSpec& spec, const json& c,
                            const Learner& whole, std::span<const float> parameters, const Batch& batch) {
  testing::CutModel cut(spec, c.at("stages"));
  std::size_t from = 0;
  for (const auto& stage : cut.all) {
    std::ranges::copy(parameters.subspan(from, stage->parameters().size()), stage->parameters().begin());
    from += stage->parameters().size();
  }
  const Score score = cut.step(batch, Schedule::one_f_one_b, c.at("micro_batches"));
  writer.add("cut.loss", {1}, {static_cast<float>(score.loss())});
  writer.add("cut.test", {1}, {static_cast<float>(cut.test(batch).loss())});
  add(writer, "cut.gradient.", whole.parameter_layout(), cut.joined(&Learner::gradients));
}

std::vector<float> train(Learner& learner, const json& c, const Batch& all) {
  const OptimizerSettings settings{
      .name = "adamw", .beta2 = c.at("beta2"), .weight_decay = c.at("weight_decay"), .decay_norms = false};
  const auto optimizer = make_optimizer(settings, layers_of(learner));
  const std::size_t each = c.at("batch");
  std::vector<float> losses;
  for (std::uint64_t step = 0; (step + 1) * each <= all.size(); ++step) {
    losses.push_back(static_cast<float>(learner.compute_gradient(all.part(step * each, each)).loss()));
    optimizer->update(learner.parameters(), learner.gradients(),
                      {.rate = c.at("rate"), .gradient_scale = 1, .number = step + 1});
  }
  return losses;
}

void run(const fs::path& folder, const json& c) {
  const ModelSpec spec = spec_of(c);
  const auto learner = make_learner(spec);
  load_weights(*learner, folder / c.at("weights"));
  const auto tokens = read<std::int32_t>(folder / c.at("tokens"));
  const auto weights = read<float>(folder / c.at("target_weights"));
  Batch all{.inputs = {}, .labels = {}, .shape = spec.input, .tokens = tokens};
  SafetensorsWriter writer;
  add(writer, "weight.", learner->parameter_layout(), learner->parameters());
  const std::vector<float> made = logits(*learner, all.tokens.first(spec.input.size()));
  writer.add("logits", {spec.input.channels, spec.classes}, made);
  add_greedy_text(writer, *learner, all.tokens.first(c.at("prompt").get<std::size_t>()), c.at("length"));
  Batch first = all.part(0, c.at("batch"));
  first.weights = weights;  // empty, or of the targets of this batch
  writer.add("test", {1}, {static_cast<float>(learner->evaluate(first).loss())});
  const Score score = learner->compute_gradient(first);
  writer.add("loss", {1}, {static_cast<float>(score.loss())});
  add(writer, "gradient.", learner->parameter_layout(), learner->gradients());
  add_gradient_of_stages(writer, spec, c, *learner, learner->parameters(), first);
  const std::vector<float> losses = train(*learner, c, all);
  writer.add("losses", {static_cast<std::int64_t>(losses.size())}, losses);
  write_file(folder / c.at("result"), writer.parts());
  load_weights(*learner, folder / c.at("weights"));
  const std::string bytes =
      onnx_file(operators_of(spec, learner->parameters(), learner->buffers()), "parity");
  write_file(folder / c.at("onnx"), std::string_view(bytes));
}

}  // namespace
}  // namespace veche

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: gpt DIR\n";
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    for (const auto& c : nlohmann::json::parse(std::ifstream(folder / "index.json"))) veche::run(folder, c);
  } catch (const std::exception& error) {
    std::cerr << "gpt: " << error.what() << '\n';
    return 1;
  }
}
