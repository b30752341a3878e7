#include "veche/model/torch/kernels/token_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "veche/base/machine/with_instruction_set.h"
#include "veche/random.h"

namespace veche::torch_model {
namespace {

std::vector<float> normal_numbers(std::size_t count, std::uint64_t number) {
  RandomStream stream(1, "tokens", number);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

double gelu_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

// One row, in double precision.
std::vector<double> norm_of(const std::vector<double>& x, const std::vector<float>& weight,
                            const std::vector<float>& bias) {
  const auto n = static_cast<double>(x.size());
  double mean = 0, square = 0;
  for (const double v : x) mean += v / n;
  for (const double v : x) square += (v - mean) * (v - mean) / n;
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back((x[i] - mean) / std::sqrt(square + 1e-5) * weight[i] + (bias.empty() ? 0 : bias[i]));
  return y;
}

class Tokens : public ::testing::TestWithParam<std::string> {
  const WithInstructionSet limited_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(All, Tokens, ::testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

TEST_P(Tokens, GeluIsTheFormulaAndItsSlope) {
  std::vector<float> x;
  for (int i = -200; i <= 200; ++i) x.push_back(static_cast<float>(i) * 0.1F);
  const std::vector<float> dy(x.size(), 1.5F);
  std::vector<float> y(x.size()), again(x.size()), dx(x.size());
  gelu(x.data(), static_cast<std::int64_t>(x.size()), y.data());
  gelu_gradient(x.data(), dy.data(), static_cast<std::int64_t>(x.size()), again.data(), dx.data());
  EXPECT_EQ(y, again);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    EXPECT_NEAR(y[i], gelu_of(at), 1e-6 * std::max(1.0, std::abs(at))) << at;
    EXPECT_NEAR(dx[i], 1.5 * (gelu_of(at + 1e-5) - gelu_of(at - 1e-5)) / 2e-5, 1e-5) << at;
  }
}

TEST_P(Tokens, NormIsTheDefinitionAndItsGradient) {
  constexpr std::int64_t kRows = 3, kWidth = 53;
  const std::vector<float> x = normal_numbers(kRows * kWidth, 0), dy = normal_numbers(kRows * kWidth, 1);
  const std::vector<float> around = normal_numbers(kRows * kWidth, 2), weight = normal_numbers(kWidth, 3);
  for (const std::vector<float>& bias : {std::vector<float>(), normal_numbers(kWidth, 4)}) {
    std::vector<float> y(x.size()), mean(kRows), scale(kRows), dx(x.size());
    std::vector<float> dweight(kWidth, 0.5F), dbias(kWidth, 0.25F);
    const bool biased = !bias.empty();
    token_norm(x.data(), kRows, kWidth, weight.data(), biased ? bias.data() : nullptr, 1e-5F, y.data(),
               mean.data(), scale.data());
    token_norm_gradient(dy.data(), x.data(), kRows, kWidth, weight.data(), mean.data(), scale.data(),
                        biased ? around.data() : nullptr, dx.data(), dweight.data(),
                        biased ? dbias.data() : nullptr);
    std::vector<double> all_dweight(kWidth, 0.5);
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto row = x.begin() + static_cast<std::ptrdiff_t>(r * kWidth);
      const std::vector<double> from(row, row + kWidth);
      const std::vector<double> expected = norm_of(from, weight, bias);
      for (std::size_t i = 0; i < kWidth; ++i) {
        ASSERT_NEAR(y[r * kWidth + i], expected[i], 1e-5);
        all_dweight[i] += dy[r * kWidth + i] * (expected[i] - (biased ? bias[i] : 0)) / weight[i];
        double slope = biased ? around[r * kWidth + i] : 0;
        std::vector<double> up = from, down = from;
        up[i] += 1e-5;
        down[i] -= 1e-5;
        const std::vector<double> above = norm_of(up, weight, bias), below = norm_of(down, weight, bias);
        for (std::size_t j = 0; j < kWidth; ++j) slope += dy[r * kWidth + j] * (above[j] - below[j]) / 2e-5;
        ASSERT_NEAR(dx[r * kWidth + i], slope, 1e-4);
      }
    }
    for (std::size_t i = 0; i < kWidth; ++i) {
      EXPECT_NEAR(dweight[i], all_dweight[i], 1e-4);
      if (biased) {
        EXPECT_NEAR(dbias[i], 0.25 + dy[i] + dy[kWidth + i] + dy[2 * kWidth + i], 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace veche::torch_model
