#pragma once

#include <string>
#include <vector>

#include "tests/support/train.h"
#include "veche/random.h"

namespace veche::testing {

// One codec of every kind, as strong as a test with few numbers allows.
inline std::vector<std::string> all_codecs() {
  return {"fp16",     "bf16",        "int8",    "qsgd:8",     "sign",         "threshold:0.05",
          "topk:0.2", "randomk:0.3", "dgc:0.3", "powersgd:2", "powergossip:1"};
}

// Codecs that every communicating strategy supports.
inline std::vector<std::string> common_codecs() {
  std::vector<std::string> all = all_codecs();
  std::erase(all, "dgc:0.3");
  std::erase(all, "powergossip:1");
  return all;
}

// A matrix and a vector that start anywhere and move towards the test's targets: grad = rate (x -
// to).
class MatrixLearner : public ToyLearner {
 public:
  static constexpr std::size_t kRows = 12, kColumns = 16, kBias = 8, kLength = kRows * kColumns + kBias;

  MatrixLearner(std::vector<float> start, Gradient gradient)
      : ToyLearner(std::move(start), std::move(gradient)) {}
  std::vector<TensorLayout> parameter_layout() const override {
    return {{"matrix", {kRows, kColumns}, {kColumns, 1}, 0}, {"bias", {kBias}, {1}, kRows * kColumns}};
  }
};

inline std::vector<float> random_start(std::uint64_t node) {
  RandomStream random(3, "start", node);
  std::vector<float> start(MatrixLearner::kLength);
  for (float& x : start) x = static_cast<float>(random.normal());
  return start;
}

// Nodes that only average.
inline std::unique_ptr<Learner> still_learner(NodeId node) {
  return std::make_unique<MatrixLearner>(
      random_start(static_cast<std::uint64_t>(node.value)),
      [](std::span<const float>, std::span<float> g) { std::ranges::fill(g, 0.0F); });
}

// Nodes that start equal and have different targets: their mean moves to the mean of the targets.
inline std::unique_ptr<Learner> drawn_learner(NodeId node) {
  return std::make_unique<MatrixLearner>(std::vector<float>(MatrixLearner::kLength, 0.5F),
                                         [to = random_start(static_cast<std::uint64_t>(node.value))](
                                             std::span<const float> x, std::span<float> g) {
                                           for (std::size_t i = 0; i < x.size(); ++i) g[i] = x[i] - to[i];
                                         });
}
inline std::vector<double> mean_start(int nodes) {
  std::vector<double> mean(MatrixLearner::kLength);
  for (int node = 0; node < nodes; ++node) {
    const std::vector<float> start = random_start(static_cast<std::uint64_t>(node));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += start[i] / static_cast<double>(nodes);
  }
  return mean;
}

}  // namespace veche::testing
