#pragma once

#include <map>
#include <vector>

#include "veche/model/stage.h"

namespace veche::testing {

// The cheapest chain, for every task: block k multiplies a number by w_k, and the loss is half the
// squared distance from the target. The number is the input, or a window's first token; the target
// is the label, the value, or the window's second token. With y = x w_0 .. w_n the gradient of w_k
// is the mean of (y - label) y / w_k.
class ChainStage : public Stage {
 public:
  ChainStage(std::vector<float> w, bool first, bool last)
      : w_(std::move(w)), g_(w_.size()), first_(first), last_(last) {}

  bool first() const override { return first_; }
  bool last() const override { return last_; }
  std::span<float> parameters() override { return w_; }
  std::span<float> gradients() override { return g_; }
  std::span<float> buffers() override { return {}; }

  Message forward(const MicroBatch& part, const StageInput& input, MessagePool& pool) override {
    if (part.index == 0) std::ranges::fill(g_, 0.0F);
    Held held;
    held.targets = targets_of(input.batch);
    std::vector<float> y = first_ ? numbers_of(input.batch) : as_vector(input.activation.as<float>());
    for (const float w : w_)
      for (float& value : y) value *= w;
    held.y = y;
    most_ = std::max(most_, held_.size() + 1);
    held_[part.index] = held;
    return last_ ? Message{} : pool.copy_of(std::span<const float>(y));
  }

  Message backward(const MicroBatch& part, const Message& gradient, MessagePool& pool) override {
    const Held held = held_.at(part.index);
    held_.erase(part.index);
    std::vector<float> dy;
    if (last_) {
      for (std::size_t i = 0; i < held.y.size(); ++i) {
        const float apart = held.y[i] - held.targets[i];
        dy.push_back(apart / static_cast<float>(part.whole));
        score_ += {.loss_sum = 0.5 * apart * apart, .correct = 0, .count = 1};
      }
    } else {
      dy.assign(gradient.as<float>().begin(), gradient.as<float>().end());
    }
    float product = 1;
    for (const float w : w_) product *= w;
    for (std::size_t k = 0; k < w_.size(); ++k)
      for (std::size_t i = 0; i < dy.size(); ++i) g_[k] += dy[i] * held.y[i] / w_[k];
    for (float& value : dy) value *= product;
    return first_ ? Message{} : pool.copy_of(std::span<const float>(dy));
  }

  Score take_score() override { return std::exchange(score_, {}); }
  Message test(const StageInput&, MessagePool&, Score&, std::span<Outcome>) override { return {}; }
  std::size_t most_bytes_held() const override { return most_; }  // micro-batches, here

  Score compute_gradient(const Batch&) override { return {}; }
  Score evaluate(const Batch&) override { return {}; }
  std::vector<TensorLayout> parameter_layout() const override { return {}; }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }

 private:
  struct Held {
    std::vector<float> targets, y;
  };
  template <class T>
  static std::vector<float> as_vector(std::span<const T> items) {
    std::vector<float> numbers;
    for (const T item : items) numbers.push_back(static_cast<float>(item));
    return numbers;
  }
  static std::vector<float> tokens_of(const Batch& batch, std::size_t place) {
    std::vector<float> numbers;
    for (std::size_t i = 0; i < batch.size(); ++i)
      numbers.push_back(static_cast<float>(batch.tokens[2 * i + place]));
    return numbers;
  }
  static std::vector<float> numbers_of(const Batch& batch) {
    return batch.tokens.empty() ? as_vector(batch.inputs) : tokens_of(batch, 0);
  }
  static std::vector<float> targets_of(const Batch& batch) {
    if (!batch.tokens.empty()) return tokens_of(batch, 1);
    return batch.values.empty() ? as_vector(batch.labels) : as_vector(batch.values);
  }

  std::vector<float> w_, g_;
  const bool first_, last_;
  std::map<int, Held> held_;
  std::size_t most_ = 0;
  Score score_;
};

}  // namespace veche::testing
