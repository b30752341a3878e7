// zoo DIR: DIR/index.json lists networks, each with a safetensors file of its weights and a file of
// images (float32, NCHW). Gives each of ours those weights, as model.init does, and writes to
// DIR/N.safetensors what it has then and what came out: `weight.*`, `outputs` (log-probabilities
// outside training), and where a gradient is asked for `loss`, `gradient.*` and `after.*` (the
// buffers after that pass).
#include "veche/model/zoo.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "veche/base/files/files.h"
#include "veche/model/tensor_layout.h"
#include "veche/model/weights.h"
#include "veche/runtime/config/key_words.h"

namespace veche {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kImages = 2;  // whose log-probabilities are compared

ModelSpec spec_of(const json& c) {
  ModelSpec spec;
  spec.name = c.at("model");
  spec.input = {3, c.at("side"), c.at("side")};
  spec.classes = c.at("classes");
  const json& options = c.at("options");
  if (options.contains("stem"))
    spec.settings.stem = of_word<ModelStem>(options.at("stem").get<std::string>());
  if (options.contains("norm")) spec.settings.norm = options.at("norm").get<std::string>();
  spec.settings.dropout = 0.0;
  spec.settings.stochastic_depth = 0.0;
  return spec;
}

// Images of a file, as Veche takes them: channels last.
std::vector<float> read_images(const fs::path& file, const Shape& shape) {
  std::vector<float> plain(fs::file_size(file) / sizeof(float)), images(plain.size());
  std::ifstream(file, std::ios::binary)
      .read(reinterpret_cast<char*>(plain.data()), static_cast<std::streamsize>(fs::file_size(file)));
  TensorLayout pixels;
  const std::int64_t c = shape.channels, h = shape.height, w = shape.width;
  pixels.shape = {static_cast<std::int64_t>(images.size() / shape.size()), c, h, w};
  pixels.strides = {c * h * w, 1, w * c, c};
  scatter(pixels, plain, images);
  return images;
}

// log p of every class: the learner tells the loss of a label.
std::vector<float> log_probabilities(Learner& learner, const ModelSpec& spec, std::span<const float> images) {
  std::vector<float> result;
  for (std::size_t i = 0; i < kImages; ++i)
    for (std::int64_t label = 0; label < spec.classes; ++label) {
      const auto image = images.subspan(i * spec.input.size(), spec.input.size());
      result.push_back(
          static_cast<float>(-learner.evaluate({image, std::span(&label, 1), spec.input, 0}).loss_sum));
    }
  return result;
}

void add(SafetensorsWriter& writer, const std::string& prefix, std::vector<TensorLayout> layout,
         std::span<const float> flat) {
  for (TensorLayout& tensor : layout) tensor.name.insert(0, prefix);
  add_tensors(writer, layout, flat);
}

void run(const fs::path& folder, const json& c) {
  const ModelSpec spec = spec_of(c);
  const auto learner = make_learner(spec);
  load_weights(*learner, folder / c.at("weights"));
  const std::vector<float> images = read_images(folder / c.at("images"), spec.input);
  SafetensorsWriter writer;
  add(writer, "weight.", learner->parameter_layout(), learner->parameters());
  add(writer, "weight.", learner->buffer_layout(), learner->buffers());
  writer.add("outputs", {kImages, spec.classes}, log_probabilities(*learner, spec, images));
  if (c.contains("labels")) {
    const std::vector<std::int64_t> labels = c["labels"];
    const Score score = learner->compute_gradient({images, labels, spec.input, 0});
    writer.add("loss", {1}, {static_cast<float>(score.loss())});
    add(writer, "gradient.", learner->parameter_layout(), learner->gradients());
    add(writer, "after.", learner->buffer_layout(), learner->buffers());
  }
  write_file(folder / c.at("result"), writer.parts());
}

}  // namespace
}  // namespace veche

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: zoo DIR\n";
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    for (const auto& c : nlohmann::json::parse(std::ifstream(folder / "index.json"))) veche::run(folder, c);
  } catch (const std::exception& error) {
    std::cerr << "zoo: " << error.what() << '\n';
    return 1;
  }
}
