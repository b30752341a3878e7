#pragma once

#include <functional>
#include <string>
#include <vector>

#include "veche/config.h"
#include "veche/learner.h"
#include "veche/runtime/run/training.h"

namespace veche::testing {

using Assignments = std::vector<std::string>;

inline Assignments joined(Assignments first, const Assignments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// A run without a folder. With a given learner, [model] is not used.
inline RunResult train(const Assignments& assignments,
                       std::function<std::unique_ptr<Learner>(NodeId)> learner = {}) {
  Config config;
  for (const std::string& assignment : assignments) config.set(assignment);
  TrainingRequest request;
  if (learner) config.set("model.name=quadratic");  // needs no data
  request.settings = config.resolve();
  request.learner = std::move(learner);
  request.keep = false;
  return run_training(request);
}

// A few numbers with a gradient defined by the test; no data.
class ToyLearner : public Learner {
 public:
  using Gradient = std::function<void(std::span<const float> x, std::span<float> g)>;
  ToyLearner(std::vector<float> start, Gradient gradient)
      : x_(std::move(start)), g_(x_.size()), gradient_(std::move(gradient)) {}

  std::span<float> parameters() override { return x_; }
  std::span<float> gradients() override { return g_; }
  std::span<float> buffers() override { return {}; }
  Score compute_gradient(const Batch& /*batch*/) override {
    gradient_(x_, g_);
    return {0, 0, 1};
  }
  Score evaluate(const Batch& /*batch*/) override { return {}; }
  std::vector<TensorLayout> parameter_layout() const override { return {}; }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }

 private:
  std::vector<float> x_, g_;
  Gradient gradient_;
};

}  // namespace veche::testing
