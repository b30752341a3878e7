#include "veche/measures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/data_sets.h"
#include "veche/train/measure/target.h"

namespace veche {
namespace {

using testing::refusal;

double of(const char* name, const TestResult& result) {
  for (const Measure& measure : measures_of(result.task))
    if (measure.name == name) return measure.value(result).value();
  throw std::out_of_range(name);
}

// Loss of a fair choice among 16 symbols: 4 bits, perplexity 16.
TEST(Measures, OfText) {
  TestResult result;
  result.task = Task::language;
  result.characters_per_token = 2.5;
  result += Score{.loss_sum = 10 * std::log(16.0), .correct = 5, .count = 10};
  EXPECT_NEAR(of("perplexity", result), 16, 1e-12);
  EXPECT_NEAR(of("bits_per_token", result), 4, 1e-12);
  EXPECT_NEAR(of("bits_per_character", result), 1.6, 1e-12);
  EXPECT_EQ(of("accuracy", result), 0.5);
}

// Targets 1 2 3 4 and answers 1 2 3 6: the errors are 0 0 0 2.
TEST(Measures, OfNumbers) {
  TestResult result;
  result.task = Task::regression;
  for (const double target : {1, 2, 3, 4}) {
    const double error = target == 4 ? 2 : 0;
    result += Score{.loss_sum = error * error,
                    .correct = 0,
                    .count = 1,
                    .error_sum = error,
                    .squared_error_sum = error * error,
                    .target_sum = target,
                    .squared_target_sum = target * target};
  }
  EXPECT_EQ(of("rmse", result), 1);
  EXPECT_EQ(of("mae", result), 0.5);
  EXPECT_NEAR(of("r2", result), 1 - 4 / 5.0, 1e-12);
}

TEST(Measures, AreShownWithTheirUnits) {
  EXPECT_EQ(shown(*find_measure("accuracy"), 0.97314), "97.3 %");
  EXPECT_EQ(shown(*find_measure("accuracy"), 0.97314, 0.002), "97.3 +- 0.2 %");
  EXPECT_EQ(shown(*find_measure("perplexity"), 5.1268), "5.13");
  EXPECT_EQ(find_measure("beauty"), nullptr);
}

bool reached(const Value& wanted, Task task, double loss) {
  TestResult result;
  result.task = task;
  result += Score{.loss_sum = loss, .correct = 9, .count = 10, .squared_error_sum = 40};
  return read_target(wanted, task).is_reached_by(result);
}

TEST(Target, ComparesInTheDirectionOfItsMeasure) {
  EXPECT_TRUE(reached({0.9}, Task::classification, 1));
  EXPECT_FALSE(reached({0.91}, Task::classification, 1));
  EXPECT_FALSE(reached({std::string("accuracy > 0.9")}, Task::classification, 1));
  EXPECT_TRUE(reached({std::string("loss<=0.1")}, Task::classification, 1));
  EXPECT_FALSE(reached({std::string(" loss < 0.1 ")}, Task::classification, 1));
  EXPECT_TRUE(reached({std::string("perplexity < 2")}, Task::language, 1));
  EXPECT_FALSE(reached({std::int64_t{2}}, Task::language, 10));
  EXPECT_TRUE(reached({std::int64_t{2}}, Task::regression, 10));  // RMSE 2
  EXPECT_EQ(
      refusal([] { reached({std::string("auc >= 0.7")}, Task::classification, 1); }),
      "run.target: auc is not measured here: it needs two classes, and a learner that tells the score of "
      "each sample");
}

TEST(Target, RefusesInOneSentence) {
  const auto why = [](const char* text, Task task) {
    return refusal([&] { read_target(Value{std::string(text)}, task); });
  };
  EXPECT_EQ(why("acuracy >= 0.9", Task::classification),
            "run.target: 'acuracy' is no measure where the targets are classes; did you mean 'accuracy'?");
  EXPECT_EQ(
      why("rmse < 1", Task::language),
      "run.target: 'rmse' is no measure where the targets are tokens of a text; choose one of perplexity, "
      "loss, bits_per_token, bits_per_character, accuracy");
  EXPECT_EQ(why("loss > 2", Task::regression),
            "run.target = \"loss > 2\": loss is better the smaller it is; write \"loss <= 2\"");
  EXPECT_EQ(
      why("accuracy", Task::classification),
      "run.target = \"accuracy\" must be a measure, <= or >=, and a number, such as \"accuracy >= 0.9\"");
  EXPECT_EQ(
      why("perplexity == 8", Task::language),
      "run.target = \"perplexity == 8\" compares by '==' and not by < <= > or >=, such as \"perplexity <= "
      "2.5\"");
  EXPECT_EQ(why("loss < x", Task::language),
            "run.target = \"loss < x\" needs a number behind <, such as \"perplexity <= 2.5\"");
  EXPECT_EQ(why("accuracy >= 90", Task::classification),
            "run.target: accuracy is a fraction, such as 0.9 for 90 %");
}

}  // namespace
}  // namespace veche
