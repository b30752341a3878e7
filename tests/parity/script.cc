// script MODULE DIR: four nodes train the TorchScript module of that file by all-reduce, each on
// batches of its own. Writes to DIR images (NCHW float32) and labels (int64) by step and node, and
// index.json with the losses that each node saw.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "veche/model/zoo.h"
#include "veche/random.h"
#include "veche/runtime/run/training.h"

namespace veche {
namespace {

constexpr int kNodes = 4;
constexpr std::size_t kSteps = 10;
constexpr std::size_t kBatch = 8;
constexpr Shape kInput{3, 8, 8};

struct Samples {
  std::vector<float> images;  // channels first, as PyTorch takes them
  std::vector<std::int64_t> labels;
};

Samples draw(std::uint64_t node, std::uint64_t step) {
  RandomStream stream(3, "script parity", node, step);
  Samples samples;
  for (std::size_t i = 0; i < kBatch; ++i) {
    samples.labels.push_back(static_cast<std::int64_t>(stream.below(10)));
    for (std::size_t p = 0; p < kInput.size(); ++p)
      samples.images.push_back(
          static_cast<float>(stream.normal() + 0.2 * static_cast<double>(samples.labels.back() - 5)));
  }
  return samples;
}

// Veche's batches have channels last.
std::vector<float> channels_last(const std::vector<float>& images) {
  std::vector<float> turned(images.size());
  const auto c = static_cast<std::size_t>(kInput.channels);
  const std::size_t pixels = kInput.size() / c;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::size_t image = i / kInput.size(), channel = i % kInput.size() / pixels, pixel = i % pixels;
    turned[image * kInput.size() + pixel * c + channel] = images[i];
  }
  return turned;
}

// The learner of the file, on batches that the other program can know.
class OnOwnBatches : public Learner {
 public:
  OnOwnBatches(std::unique_ptr<Learner> inner, NodeId node, std::vector<double>& losses)
      : inner_(std::move(inner)), node_(static_cast<std::uint64_t>(node.value)), losses_(losses) {}

  std::span<float> parameters() override { return inner_->parameters(); }
  std::span<float> gradients() override { return inner_->gradients(); }
  std::span<float> buffers() override { return inner_->buffers(); }
  void on_gradient_ready(GradientListener listener) override {
    inner_->on_gradient_ready(std::move(listener));
  }
  Score compute_gradient(const Batch& batch) override {
    const Samples samples = draw(node_, batch.step);
    const std::vector<float> images = channels_last(samples.images);
    const Score score = inner_->compute_gradient({images, samples.labels, kInput, batch.step});
    losses_.push_back(score.loss());
    return score;
  }
  Score evaluate(const Batch&) override { return {.loss_sum = 0, .correct = 0, .count = 1}; }
  std::vector<TensorLayout> parameter_layout() const override { return inner_->parameter_layout(); }
  std::vector<TensorLayout> buffer_layout() const override { return inner_->buffer_layout(); }

 private:
  const std::unique_ptr<Learner> inner_;
  const std::uint64_t node_;
  std::vector<double>& losses_;
};

template <class T>
void append(const std::filesystem::path& file, const std::vector<T>& values) {
  std::ofstream(file, std::ios::binary | std::ios::app)
      .write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
}

void run(const std::string& module, const std::filesystem::path& folder) {
  Config config;
  for (const char* key : {"strategy.name=allreduce", "optimizer.name=sgd", "optimizer.lr=0.05",
                          "optimizer.momentum=0.9", "optimizer.weight_decay=0.001"})
    config.set(key);
  config.set("run.steps=" + std::to_string(kSteps));
  config.set("cluster.nodes=" + std::to_string(kNodes));
  std::vector<std::vector<double>> losses(kNodes);
  TrainingRequest request;
  config.set("model.name=quadratic");  // needs no data; the learner is below
  request.settings = config.resolve();
  request.keep = false;
  request.learner = [&](NodeId node) {
    ModelSpec spec;
    spec.name = "torchscript";
    spec.input = kInput;
    spec.node = node;
    spec.settings.file = module;
    return std::make_unique<OnOwnBatches>(make_learner(spec), node,
                                          losses[static_cast<std::size_t>(node.value)]);
  };
  run_training(request);
  for (std::uint64_t step = 0; step < kSteps; ++step)
    for (std::uint64_t node = 0; node < kNodes; ++node) {
      const Samples samples = draw(node, step);
      append(folder / "images", samples.images);
      append(folder / "labels", samples.labels);
    }
  const nlohmann::json index{{"nodes", kNodes}, {"batch", kBatch}, {"losses", losses}};
  std::ofstream(folder / "index.json") << index.dump() << '\n';
}

}  // namespace
}  // namespace veche

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: script MODULE DIR\n";
    return 2;
  }
  try {
    veche::run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "script: " << error.what() << '\n';
    return 1;
  }
}
