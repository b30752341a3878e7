#include "veche/model/accumulating_learner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace veche {
namespace {

// Least squares: the gradient of a batch is the weighted mean of 2 (w.x - y) x. Reports it in two
// parts.
class LeastSquares : public Learner {
 public:
  std::span<float> parameters() override { return w_; }
  std::span<float> gradients() override { return g_; }
  std::span<float> buffers() override { return {}; }
  Score compute_gradient(const Batch& batch) override {
    steps.push_back(batch.step);
    most = std::max(most, batch.size());
    std::ranges::fill(g_, 0.0F);
    const float all = batch.weights.empty()
                          ? static_cast<float>(batch.size())
                          : std::accumulate(batch.weights.begin(), batch.weights.end(), 0.0F);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::span<const float> x = batch.inputs.subspan(3 * i, 3);
      const float error = w_[0] * x[0] + w_[1] * x[1] + w_[2] * x[2] - batch.values[i];
      const float weight = (batch.weights.empty() ? 1.0F : batch.weights[i]) / all;
      for (std::size_t d = 0; d < 3; ++d) g_[d] += 2 * weight * error * x[d];
    }
    if (listener_) {
      listener_(1, 3);
      listener_(0, 1);
    }
    Score score;
    score.count = static_cast<std::int64_t>(batch.size());
    return score;
  }
  void on_gradient_ready(GradientListener listener) override { listener_ = std::move(listener); }
  Score evaluate(const Batch& /*batch*/) override { return {}; }
  std::vector<TensorLayout> parameter_layout() const override { return {}; }
  std::vector<TensorLayout> buffer_layout() const override { return {}; }

  std::vector<std::uint64_t> steps;  // seeds of dropout, by pass
  std::size_t most = 0;              // samples in a pass

 private:
  std::vector<float> w_{0.5F, -1, 2}, g_ = std::vector<float>(3);
  GradientListener listener_;
};

struct Samples {
  explicit Samples(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = static_cast<float>(i);
      inputs.insert(inputs.end(), {at, 1 / (1 + at), at * at / 50});
      values.push_back(3 - at);
      weights.push_back(i % 3 == 0 ? 0.0F : 0.25F * at);
    }
  }
  Batch batch(bool weighted) const {
    return {.inputs = inputs,
            .labels = {},
            .shape = {3, 1, 1},
            .step = 7,
            .values = values,
            .weights = weighted ? std::span<const float>(weights) : std::span<const float>()};
  }
  std::vector<float> inputs, values, weights;
};

TEST(AccumulatingLearner, GivesTheGradientOfTheWholeBatch) {
  for (const std::size_t count : {1, 4, 5, 11, 12})
    for (const bool weighted : {false, true}) {
      const Samples samples(count);
      const Batch batch = samples.batch(weighted && count > 1);
      LeastSquares whole;
      whole.compute_gradient(batch);
      auto made = std::make_unique<LeastSquares>();
      LeastSquares& inner = *made;
      AccumulatingLearner learner(std::move(made), 4);
      EXPECT_EQ(learner.compute_gradient(batch).count, static_cast<std::int64_t>(count));
      EXPECT_LE(inner.most, 4U);
      EXPECT_EQ(inner.steps.size(), (count + 3) / 4);
      for (std::size_t d = 0; d < 3; ++d)
        EXPECT_NEAR(learner.gradients()[d], whole.gradients()[d], 1e-5 * (1 + std::abs(whole.gradients()[d])))
            << count << " samples, number " << d;
    }
}

TEST(AccumulatingLearner, ReportsEachPartOnceWhenItIsFinal) {
  const Samples samples(10);
  LeastSquares whole;
  whole.compute_gradient(samples.batch(false));
  AccumulatingLearner learner(std::make_unique<LeastSquares>(), 4);
  std::vector<int> reported(3);
  learner.on_gradient_ready([&](std::size_t from, std::size_t to) {
    for (std::size_t d = from; d < to; ++d) {
      ++reported[d];
      EXPECT_NEAR(learner.gradients()[d], whole.gradients()[d], 1e-4);
      learner.gradients()[d] = -1;  // a listener may change it
    }
  });
  learner.compute_gradient(samples.batch(false));
  EXPECT_EQ(reported, (std::vector{1, 1, 1}));
  for (const float g : learner.gradients()) EXPECT_EQ(g, -1);
}

TEST(AccumulatingLearner, EachPassHasADropoutOfItsOwn) {
  auto made = std::make_unique<LeastSquares>();
  LeastSquares& inner = *made;
  AccumulatingLearner learner(std::move(made), 2);
  const Samples samples(6);
  learner.compute_gradient(samples.batch(false));
  ASSERT_EQ(inner.steps.size(), 3U);
  EXPECT_EQ(inner.steps[0], 7U);  // as without accumulation
  EXPECT_NE(inner.steps[1], inner.steps[0]);
  EXPECT_NE(inner.steps[2], inner.steps[1]);
}

}  // namespace
}  // namespace veche
