#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "veche/dataset.h"

namespace veche::testing {

// Small sets of every task, whose samples are functions of their index.

// Windows of a text that counts: token t of sample i is (i + t) mod the vocabulary. With weights,
// the first target of every window is masked.
class MadeUpText final : public Dataset, private TokenSamples, private TargetWeights {
 public:
  struct Form {
    std::size_t samples = 40;
    int length = 5;  // targets of a window
    int vocabulary = 7;
    bool weighted = false;
  };
  explicit MadeUpText(Form form) : form_(form) {}

  std::size_t size() const override { return form_.samples; }
  Shape shape() const override { return {form_.length, 1, 1}; }
  int classes() const override { return form_.vocabulary; }
  std::int64_t label(std::size_t /*index*/) const override { return 0; }
  void read(std::size_t /*index*/, std::span<float> /*out*/) const override {}
  const TokenSamples* tokens() const override { return this; }
  const TargetWeights* weights() const override { return form_.weighted ? this : nullptr; }

  std::vector<std::int32_t> window(std::size_t index) const {
    std::vector<std::int32_t> window(shape().size() + 1);
    read_tokens(index, window);
    return window;
  }

 private:
  void read_tokens(std::size_t index, std::span<std::int32_t> out) const override {
    for (std::size_t t = 0; t < out.size(); ++t)
      out[t] = static_cast<std::int32_t>((index + t) % static_cast<std::size_t>(form_.vocabulary));
  }
  double characters_per_token() const override { return 2; }
  void read_weights(std::size_t /*index*/, std::span<float> out) const override {
    std::ranges::fill(out, 1.0F);
    out[0] = 0;
  }

  const Form form_;
};

// Rows of a table: sample i is (sin i, cos i, 1) and its target 2 sin i - cos i + 3. With weights,
// that of sample i is 1 + i mod 3.
class MadeUpTable final : public Dataset, private ValueTargets, private TargetWeights {
 public:
  explicit MadeUpTable(std::size_t samples, bool weighted = false) : samples_(samples), weighted_(weighted) {}

  static float target(std::size_t index) {
    const auto x = static_cast<double>(index);
    return static_cast<float>(2 * std::sin(x) - std::cos(x) + 3);
  }
  std::size_t size() const override { return samples_; }
  Shape shape() const override { return {3, 1, 1}; }
  int classes() const override { return 0; }
  std::int64_t label(std::size_t /*index*/) const override { return 0; }
  void read(std::size_t index, std::span<float> out) const override {
    const auto x = static_cast<double>(index);
    out[0] = static_cast<float>(std::sin(x));
    out[1] = static_cast<float>(std::cos(x));
    out[2] = 1;
  }
  const ValueTargets* values() const override { return this; }
  const TargetWeights* weights() const override { return weighted_ ? this : nullptr; }

 private:
  float value(std::size_t index) const override { return target(index); }
  void read_weights(std::size_t index, std::span<float> out) const override {
    out[0] = static_cast<float>(1 + index % 3);
  }

  const std::size_t samples_;
  const bool weighted_;
};

}  // namespace veche::testing
