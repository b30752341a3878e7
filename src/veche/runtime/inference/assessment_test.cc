#include "veche/runtime/inference/assessment.h"

#include <gtest/gtest.h>

#include <cmath>

namespace veche {
namespace {

// Four answers, all numbers by hand.
Assessment four_answers() {
  Assessment assessment(2);
  const float sure[] = {0.95F, 0.05F}, half[] = {0.5F, 0.5F}, other[] = {0.25F, 0.75F};
  assessment.add(0, sure);   // right, 0.95
  assessment.add(1, sure);   // wrong, 0.95
  assessment.add(0, half);   // right: of equal ones the first
  assessment.add(1, other);  // right, 0.75
  return assessment;
}

TEST(Assessment, CountsWhatIsTakenForWhat) {
  const Assessment a = four_answers();
  EXPECT_EQ(a.count(), 4);
  EXPECT_DOUBLE_EQ(a.accuracy(), 0.75);
  EXPECT_EQ(a.confused(0, 0), 2);
  EXPECT_EQ(a.confused(1, 0), 1);
  EXPECT_EQ(a.confused(1, 1), 1);
  EXPECT_EQ(a.confused(0, 1), 0);
  EXPECT_EQ(a.of_class(1), 2);
  EXPECT_EQ(a.answers(0), 3);
}

TEST(Assessment, LossIsCrossEntropy) {
  const double expected = -(std::log(0.95) + std::log(0.05) + std::log(0.5) + std::log(0.75)) / 4;
  EXPECT_NEAR(four_answers().loss(), expected, 1e-7);
}

// Of the four pairs two are in order and one is equal.
TEST(Assessment, AreaUnderTheCurveCountsPairs) {
  EXPECT_DOUBLE_EQ(four_answers().auc().value(), 2.5 / 4);
  EXPECT_FALSE(Assessment(2).auc().has_value());
  EXPECT_FALSE(Assessment(3).auc().has_value());
}

TEST(Assessment, CalibrationIsTheDistanceOfProbabilityAndTruth) {
  // From 0.9: one of two right at 1.9 in all; from 0.5: one of one at 0.5; from 0.7: one of one at
  // 0.75.
  EXPECT_NEAR(four_answers().calibration_error(), (0.9 + 0.5 + 0.25) / 4, 1e-7);
}

TEST(Assessment, CertaintyIsInTheLastBinAndNothingIsInfinite) {
  Assessment assessment(2);
  const float certain[] = {1.0F, 0.0F};
  assessment.add(1, certain);
  EXPECT_EQ(assessment.bins().back().count, 1);
  EXPECT_TRUE(std::isfinite(assessment.loss()));
  EXPECT_DOUBLE_EQ(Assessment(3).accuracy(), 0);
  EXPECT_THROW(assessment.add(2, certain), std::invalid_argument);
}

}  // namespace
}  // namespace veche
