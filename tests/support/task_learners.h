#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "veche/learner.h"
#include "veche/model_spec.h"

namespace veche::testing {

// The smallest learners of a text and of a table, in plain C++. Weights of targets count in the
// mean loss; scores count the targets that are not masked.
class FlatLearner : public Learner {
 public:
  explicit FlatLearner(std::size_t parameters) : x_(parameters), g_(parameters) {}
  std::span<float> parameters() override { return x_; }
  std::span<float> gradients() override { return g_; }
  std::span<float> buffers() override { return {}; }
  void on_gradient_ready(GradientListener listener) override { listener_ = std::move(listener); }
  Score compute_gradient(const Batch& batch) override {
    std::ranges::fill(g_, 0.0F);
    const Score score = pass(batch, true);
    const std::size_t half = x_.size() / 2;
    if (listener_) listener_(half, x_.size());
    if (listener_) listener_(0, half);
    return score;
  }
  Score evaluate(const Batch& batch) override { return pass(batch, false); }
  std::vector<TensorLayout> parameter_layout() const override {
    return {{"x", {static_cast<std::int64_t>(x_.size())}, {1}, 0}};
  }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }

 protected:
  virtual Score pass(const Batch& batch, bool with_gradient) = 0;
  static float weight(const Batch& batch, std::size_t target) {
    return batch.weights.empty() ? 1 : batch.weights[target];
  }
  // Of all targets of a batch.
  static float weights(const Batch& batch) {
    float all = 0;
    for (std::size_t i = 0; i < batch.targets(); ++i) all += weight(batch, i);
    return all;
  }

  std::vector<float> x_, g_;

 private:
  GradientListener listener_;
};

// A text: a table of logits, of the next token after each token. The gradient of a row is the mean
// of its softmax less the one-hot target.
class BigramLearner final : public FlatLearner {
 public:
  explicit BigramLearner(int vocabulary)
      : FlatLearner(static_cast<std::size_t>(vocabulary) * static_cast<std::size_t>(vocabulary)),
        vocabulary_(static_cast<std::size_t>(vocabulary)) {}
  // A hidden matrix, which some optimizers treat otherwise, before that of the output.
  std::vector<TensorLayout> parameter_layout() const override {
    const auto all = static_cast<std::int64_t>(vocabulary_), hidden = all / 2;
    return {{"hidden", {hidden, all}, {all, 1}, 0},
            {"output", {all - hidden, all}, {all, 1}, static_cast<std::size_t>(hidden * all)}};
  }

 private:
  Score pass(const Batch& batch, bool with_gradient) override {
    Score score;
    const float all = weights(batch);
    const std::size_t length = batch.shape.size();
    std::vector<float> chances(vocabulary_);
    for (std::size_t i = 0; i < batch.targets(); ++i) {
      const float w = weight(batch, i);
      if (w == 0) continue;
      const auto* token = &batch.tokens[i / length * (length + 1) + i % length];
      const auto now = static_cast<std::size_t>(token[0]), next = static_cast<std::size_t>(token[1]);
      const std::span<const float> row = std::span(x_).subspan(now * vocabulary_, vocabulary_);
      float sum = 0;
      for (std::size_t k = 0; k < vocabulary_; ++k) sum += chances[k] = std::exp(row[k]);
      score.loss_sum += std::log(sum) - row[next];
      score.correct += std::ranges::max_element(row) - row.begin() == token[1] ? 1 : 0;
      ++score.count;
      if (!with_gradient) continue;
      for (std::size_t k = 0; k < vocabulary_; ++k)
        g_[now * vocabulary_ + k] += w / all * (chances[k] / sum - (k == next ? 1.0F : 0.0F));
    }
    return score;
  }

  const std::size_t vocabulary_;
};

// A table: a linear function and the mean squared error.
class LinearLearner final : public FlatLearner {
 public:
  explicit LinearLearner(std::size_t columns) : FlatLearner(columns) {}

 private:
  Score pass(const Batch& batch, bool with_gradient) override {
    Score score;
    const float all = weights(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::span<const float> row = batch.inputs.subspan(i * x_.size(), x_.size());
      float error = -batch.values[i];
      for (std::size_t k = 0; k < x_.size(); ++k) error += x_[k] * row[k];
      const double e = error, v = batch.values[i];
      score += {.loss_sum = e * e,
                .correct = 0,
                .count = 1,
                .error_sum = std::abs(e),
                .squared_error_sum = e * e,
                .target_sum = v,
                .squared_target_sum = v * v};
      if (!with_gradient) continue;
      for (std::size_t k = 0; k < x_.size(); ++k) g_[k] += weight(batch, i) / all * 2 * error * row[k];
    }
    return score;
  }
};

// For a task other than classification.
inline std::unique_ptr<Learner> make_task_learner(const ModelSpec& spec) {
  if (spec.task == Task::language) return std::make_unique<BigramLearner>(spec.classes);
  return std::make_unique<LinearLearner>(spec.input.size());
}

}  // namespace veche::testing
