#include "veche/train/measure/class_scores.h"

#include <gtest/gtest.h>

#include <mutex>

#include "tests/support/nodes.h"
#include "tests/support/task_learners.h"
#include "veche/random.h"
#include "veche/train/measure/measure.h"

namespace veche {
namespace {

// The definition, pair by pair.
double pairs_right(const std::vector<float>& positive, const std::vector<float>& negative) {
  double right = 0;
  for (const float p : positive)
    for (const float n : negative) right += p > n ? 1 : p == n ? 0.5 : 0;
  return right / static_cast<double>(positive.size() * negative.size());
}

TEST(AreaUnderCurve, IsThePartOfPairsInTheRightOrder) {
  const auto area = [](std::vector<float> positive, std::vector<float> negative) {
    return area_under_curve(positive, negative);
  };
  EXPECT_EQ(area({2, 3}, {0, 1}), 1);
  EXPECT_EQ(area({0, 1}, {2, 3}), 0);
  EXPECT_EQ(area({1, 1}, {1, 1, 1}), 0.5);
  EXPECT_EQ(area({1, 3}, {2}), 0.5);
  EXPECT_EQ(area({0.35F, 0.8F}, {0.1F, 0.4F}), 0.75);  // the example of scikit-learn's documentation
  EXPECT_EQ(area({}, {1}), 0.5);
  RandomStream random(1, "scores");
  for (int round = 0; round < 50; ++round) {
    std::vector<float> positive(1 + random.below(40)), negative(1 + random.below(40));
    for (float& p : positive) p = static_cast<float>(random.below(12)) - 4;  // with many ties
    for (float& n : negative) n = static_cast<float>(random.below(12)) - 6;
    EXPECT_NEAR(area(positive, negative), pairs_right(positive, negative), 1e-12);
  }
}

// A set of classes, and a learner that tells outcomes.
class Classes final : public Dataset {
 public:
  explicit Classes(int classes) : classes_(classes) {}
  std::size_t size() const override { return 101; }
  Shape shape() const override { return {1, 1, 1}; }
  int classes() const override { return classes_; }
  std::int64_t label(std::size_t index) const override {
    return static_cast<std::int64_t>(index * 7 % 3) % classes_;
  }
  void read(std::size_t index, std::span<float> out) const override {
    out[0] = static_cast<float>(index % 10);
  }

 private:
  const int classes_;
};

class Teller final : public testing::FlatLearner {
 public:
  explicit Teller(bool tells) : FlatLearner(1), tells_(tells) {}
  Score evaluate_each(const Batch& batch, std::span<Outcome> outcomes) override {
    for (std::size_t i = 0; tells_ && i < batch.size(); ++i)
      outcomes[i] = {.loss = batch.inputs[i], .margin = batch.inputs[i], .correct = batch.inputs[i] > 4};
    return {.loss_sum = 1, .correct = 0, .count = static_cast<std::int64_t>(batch.size())};
  }

 private:
  Score pass(const Batch& /*batch*/, bool /*with_gradient*/) override { return {}; }
  const bool tells_;
};

// However the test samples are divided.
TEST(ClassScores, AddUpOverBatchesAndNodes) {
  for (const int classes : {2, 3}) {
    const Classes data(classes);
    std::vector<ClassScore> expected(static_cast<std::size_t>(classes));
    std::vector<float> margins[3];
    for (std::size_t i = 0; i < data.size(); ++i) {
      const auto label = static_cast<std::size_t>(data.label(i));
      const auto number = static_cast<float>(i % 10);
      expected[label].loss_sum += static_cast<double>(number);
      expected[label].correct += number > 4 ? 1 : 0;
      ++expected[label].count;
      margins[label].push_back(number);
    }
    for (const int nodes : {1, 2, 5}) {
      testing::run_nodes(nodes, [&](testing::TestNode& node) {
        Teller learner(true);
        const TestResult result = evaluate_mean(node.channel, learner, learner.parameters(), data);
        EXPECT_EQ(result.count, 101);
        ASSERT_EQ(result.classes.size(), expected.size());
        for (std::size_t k = 0; k < expected.size(); ++k) {
          EXPECT_EQ(result.classes[k].loss_sum, expected[k].loss_sum);
          EXPECT_EQ(result.classes[k].correct, expected[k].correct);
          EXPECT_EQ(result.classes[k].count, expected[k].count);
        }
        ASSERT_EQ(result.auc.has_value(), classes == 2);
        if (result.auc.has_value()) {
          EXPECT_NEAR(*result.auc, pairs_right(margins[1], margins[0]), 1e-12);
        }
      });
    }
  }
}

TEST(ClassScores, NeedTheOutcomeOfEverySample) {
  testing::run_nodes(3, [&](testing::TestNode& node) {
    Teller learner(node.me() != 1);
    const TestResult result = evaluate_mean(node.channel, learner, learner.parameters(), Classes(2));
    EXPECT_EQ(result.count, 101);
    EXPECT_FALSE(result.auc.has_value());
    EXPECT_TRUE(result.classes.empty());
  });
}

}  // namespace
}  // namespace veche
