// power_parity DIR: two nodes train `cnn` for 20 steps with all-reduce, the gradients by PowerSGD
// from the third step on, and write to DIR what another program needs to repeat it, and the losses
// it should see: as parity.cc, with the batches and losses of each node, and the first Q of every
// matrix.
#include <iostream>

#include "tests/parity/folder.h"
#include "veche/compress/summed_codec.h"
#include "veche/model/zoo.h"
#include "veche/random.h"
#include "veche/runtime/run/training.h"

namespace veche {
namespace {

using nlohmann::json;

constexpr std::size_t kNodes = 2, kSteps = 20, kBatch = 25, kFirst = 2;
constexpr int kRank = 2;
constexpr double kRate = 0.01;
constexpr Shape kInput{1, 28, 28};

struct Samples {
  explicit Samples(std::uint64_t node) : labels(kSteps * kBatch), images(labels.size() * kInput.size()) {
    RandomStream stream(5, "power parity", node);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = static_cast<std::int64_t>(stream.below(10));
      for (std::size_t p = 0; p < kInput.size(); ++p)
        images[i * kInput.size() + p] =
            static_cast<float>(stream.normal() + 0.2 * static_cast<double>(labels[i] - 5));
    }
  }
  Batch batch(std::size_t step) const {
    const std::size_t start = step * kBatch;
    return {std::span(images).subspan(start * kInput.size(), kBatch * kInput.size()),
            std::span(labels).subspan(start, kBatch), kInput, step};
  }

  std::vector<std::int64_t> labels;
  std::vector<float> images;
};

std::unique_ptr<Learner> make_cnn() {
  ModelSpec spec;
  spec.name = "cnn";
  spec.input = kInput;
  spec.settings.dropout = 0.0;
  return make_learner(spec);
}

// The network on batches of the test's own; tells its losses.
class Trained : public Learner {
 public:
  Trained(const Samples& samples, std::vector<double>& losses)
      : inner_(make_cnn()), samples_(samples), losses_(losses) {}
  std::span<float> parameters() override { return inner_->parameters(); }
  std::span<float> gradients() override { return inner_->gradients(); }
  std::span<float> buffers() override { return inner_->buffers(); }
  Score compute_gradient(const Batch& /*batch*/) override {
    const Score score = inner_->compute_gradient(samples_.batch(losses_.size()));
    losses_.push_back(score.loss());
    return score;
  }
  Score evaluate(const Batch& batch) override { return inner_->evaluate(batch); }
  std::vector<TensorLayout> parameter_layout() const override { return inner_->parameter_layout(); }
  std::vector<TensorLayout> buffer_layout() const override { return inner_->buffer_layout(); }

 private:
  const std::unique_ptr<Learner> inner_;
  const Samples& samples_;
  std::vector<double>& losses_;
};

// The Q that the codec begins with, as a vector as long as the model's where each matrix holds in
// row k of its first rows the k-th column of its own: so it is written as a tensor is.
std::vector<float> first_factors(Learner& learner) {
  StreamShape shape;
  shape.length = learner.parameters().size();
  shape.tensors = learner.parameter_layout();
  shape.feedback = true;
  const auto codec = make_summed_codec(parse_codec("codec", "powersgd:" + std::to_string(kRank)), shape);
  const std::vector<float> nothing(shape.length);
  codec->phase(0, nothing, 0);
  const std::span<const float> all = codec->state().vectors.front();
  std::vector<float> result(shape.length);
  std::size_t at = 0;
  for (const TensorLayout& tensor : shape.tensors) {
    std::size_t columns = 1;
    for (std::size_t d = 1; d < tensor.shape.size(); ++d)
      columns *= static_cast<std::size_t>(tensor.shape[d]);
    const auto rows = static_cast<std::size_t>(tensor.shape.front());
    if (tensor.shape.size() < 2 || 2 * (rows + columns) * kRank >= rows * columns) continue;
    std::ranges::copy(all.subspan(at, columns * kRank),
                      result.begin() + static_cast<std::ptrdiff_t>(tensor.offset));
    at += columns * kRank;
  }
  if (at != all.size()) throw std::logic_error("these are not all matrices of the model");
  return result;
}

json run(Folder& folder) {
  const std::vector<Samples> samples{Samples(0), Samples(1)};
  std::vector<std::vector<double>> losses(kNodes);
  const auto start = make_cnn();
  json result{{"rank", kRank}, {"rate", kRate}, {"batch", kBatch}, {"first", kFirst}};
  result["weights"] = folder.write_tensors("", start->parameter_layout(), start->parameters());
  result["factors"] = folder.write_tensors("q.", start->parameter_layout(), first_factors(*start));

  Config config;
  for (const std::string& assignment :
       {std::string("model.name=quadratic"), std::string("cluster.nodes=2"),
        std::string("optimizer.name=sgd"), "optimizer.lr=" + std::to_string(kRate),
        std::string("optimizer.momentum=0.9"), "run.steps=" + std::to_string(kSteps),
        std::string("strategy.name=allreduce"), "compress.codec=powersgd:" + std::to_string(kRank),
        "compress.start=" + std::to_string(kFirst)})
    config.set(assignment);
  TrainingRequest request;
  request.settings = config.resolve();
  request.keep = false;
  request.learner = [&](NodeId node) {
    const auto i = static_cast<std::size_t>(node.value);
    return std::make_unique<Trained>(samples[i], losses[i]);
  };
  run_training(request);
  for (std::size_t node = 0; node < kNodes; ++node) {
    const std::string prefix = std::to_string(node) + ".";
    result["nodes"].push_back(
        {{"images", folder.write(prefix + "images", channels_first(samples[node].images, kInput))},
         {"labels", folder.write(prefix + "labels", samples[node].labels)},
         {"losses", losses[node]}});
  }
  return result;
}

}  // namespace
}  // namespace veche

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: power_parity DIR\n";
    return 2;
  }
  try {
    veche::Folder folder{argv[1]};
    folder.write_index(veche::run(folder));
  } catch (const std::exception& error) {
    std::cerr << "power_parity: " << error.what() << '\n';
    return 1;
  }
}
