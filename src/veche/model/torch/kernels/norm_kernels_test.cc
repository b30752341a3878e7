#include "veche/model/torch/kernels/norm_kernels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "veche/base/machine/with_instruction_set.h"
#include "veche/random.h"

namespace veche::torch_model {
namespace {

constexpr std::int64_t kChannels[] = {1, 5, 16, 21, 32, 64, 119};

std::vector<float> random_numbers(std::int64_t count, std::uint64_t stream_number, double mean = 0) {
  RandomStream stream(1, "kernels", stream_number);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(stream.normal() + mean);
  return values;
}

void expect_near(const std::vector<float>& values, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], tolerance) << i;
}

// With every instruction set of this processor.
class NormKernels : public ::testing::TestWithParam<std::string> {
  const WithInstructionSet limited_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(All, NormKernels, ::testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

TEST_P(NormKernels, StatisticsKeepTheirDigitsFarFromZero) {
  for (const std::int64_t channels : kChannels)
    for (const std::int64_t rows : {1, 7, 1001}) {
      const auto x = random_numbers(rows * channels, 1, 1000);
      const auto n = static_cast<std::size_t>(channels);
      std::vector<double> mean(n), variance(n);
      for (std::size_t i = 0; i < x.size(); ++i) mean[i % n] += x[i] / static_cast<double>(rows);
      for (std::size_t i = 0; i < x.size(); ++i)
        variance[i % n] += (x[i] - mean[i % n]) * (x[i] - mean[i % n]) / static_cast<double>(rows);
      std::vector<float> got_mean(n), got_variance(n);
      channel_statistics(x.data(), rows, channels, got_mean.data(), got_variance.data());
      expect_near(got_mean, mean, 1e-4);
      expect_near(got_variance, variance, 1e-5 * 4);
    }
}

// With a residual the ReLU's mask follows from y, without one from x.
void check_relu(std::int64_t channels, bool with_residual) {
  const std::int64_t rows = 301;
  const auto n = static_cast<std::size_t>(channels);
  const auto x = random_numbers(rows * channels, 1), dy = random_numbers(rows * channels, 3);
  const auto residual =
      with_residual ? random_numbers(rows * channels, 2) : std::vector<float>(x.size(), 0.0F);
  const auto scale = random_numbers(channels, 4), shift = random_numbers(channels, 5);
  const auto mean = random_numbers(channels, 6), b = random_numbers(channels, 7),
             c = random_numbers(channels, 8);
  std::vector<float> y(x.size()), g(x.size()), dx(x.size()), sum(n), dot(n);
  scale_relu(x.data(), with_residual ? residual.data() : nullptr, rows, channels, scale.data(), shift.data(),
             y.data());
  if (with_residual) {
    residual_relu_sums(dy.data(), y.data(), x.data(), rows, channels, mean.data(), g.data(), sum.data(),
                       dot.data());
    combine(g.data(), x.data(), rows, channels, mean.data(), scale.data(), b.data(), c.data(), dx.data());
  } else {
    scale_relu_sums(dy.data(), x.data(), rows, channels, scale.data(), shift.data(), mean.data(), sum.data(),
                    dot.data());
    combine_relu(dy.data(), x.data(), rows, channels, scale.data(), shift.data(), mean.data(), b.data(),
                 c.data(), dx.data());
  }

  std::vector<double> want_y, want_dx, want_sum(n), want_dot(n);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t k = i % n;
    want_y.push_back(std::max(0.0, static_cast<double>(x[i]) * scale[k] + shift[k] + residual[i]));
    const double slope = y[i] > 0 ? dy[i] : 0;
    want_sum[k] += slope;
    want_dot[k] += slope * (x[i] - mean[k]);
    want_dx.push_back(slope * scale[k] + (x[i] - mean[k]) * b[k] + c[k]);
  }
  expect_near(y, want_y, 1e-5);
  expect_near(sum, want_sum, 1e-4);
  expect_near(dot, want_dot, 5e-4);
  expect_near(dx, want_dx, 2e-5);
}

TEST_P(NormKernels, ForwardAndBackwardFollowTheirFormulas) {
  for (const std::int64_t channels : kChannels)
    for (const bool with_residual : {false, true}) check_relu(channels, with_residual);
}

TEST_P(NormKernels, WithoutTheReluTheyFollowTheirFormulas) {
  for (const std::int64_t channels : kChannels)
    for (const std::int64_t rows : {1, 7, 301}) {
      const auto n = static_cast<std::size_t>(channels);
      const auto x = random_numbers(rows * channels, 1), dy = random_numbers(rows * channels, 3);
      const auto factor = random_numbers(channels, 4), shift = random_numbers(channels, 5);
      const auto mean = random_numbers(channels, 6);
      std::vector<float> y(x.size()), sum(n), dot(n);
      scale(x.data(), rows, channels, factor.data(), shift.data(), y.data());
      scale_sums(dy.data(), x.data(), rows, channels, mean.data(), sum.data(), dot.data());

      std::vector<double> want_y, want_sum(n), want_dot(n);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t k = i % n;
        want_y.push_back(static_cast<double>(x[i]) * factor[k] + shift[k]);
        want_sum[k] += dy[i];
        want_dot[k] += static_cast<double>(dy[i]) * (x[i] - mean[k]);
      }
      expect_near(y, want_y, 1e-5);
      expect_near(sum, want_sum, 1e-4);
      expect_near(dot, want_dot, 5e-4);
    }
}

// The expected gradient of every pixel, computed window by window.
TEST_P(NormKernels, PoolingSendsTheGradientToTheFirstLargest) {
  for (const std::int64_t channels : kChannels) {
    const ImageSize size{3, 7, 5, channels};
    const auto n = static_cast<std::size_t>(channels);
    auto x = random_numbers(size.rows() * channels, 1);
    for (float& value : x) value = std::round(value * 2);  // makes equal neighbours
    const auto dy = random_numbers(3 * 3 * 2 * channels, 2);
    const auto scale = random_numbers(channels, 4), shift = random_numbers(channels, 5);
    const auto mean = random_numbers(channels, 6), b = random_numbers(channels, 7),
               c = random_numbers(channels, 8);
    std::vector<float> y(dy.size()), dx(x.size()), sum(n), dot(n);
    scale_relu_pool(x.data(), size, scale.data(), shift.data(), y.data());
    scale_relu_pool_sums(dy.data(), x.data(), size, scale.data(), shift.data(), mean.data(), sum.data(),
                         dot.data());
    combine_pool(dy.data(), x.data(), size, scale.data(), shift.data(), mean.data(), b.data(), c.data(),
                 dx.data());

    std::vector<double> want_y, want_dx(x.size()), want_sum(n), want_dot(n);
    for (std::size_t i = 0; i < x.size(); ++i) want_dx[i] = (x[i] - mean[i % n]) * b[i % n] + c[i % n];
    for (std::int64_t image = 0; image < 3; ++image)
      for (std::int64_t h = 0; h < 3; ++h)
        for (std::int64_t w = 0; w < 2; ++w)
          for (std::size_t k = 0; k < n; ++k) {
            double best = -INFINITY;
            std::size_t place = 0;
            for (const std::int64_t pixel :
                 {(image * 7 + 2 * h) * 5 + 2 * w, (image * 7 + 2 * h) * 5 + 2 * w + 1,
                  (image * 7 + 2 * h + 1) * 5 + 2 * w, (image * 7 + 2 * h + 1) * 5 + 2 * w + 1}) {
              const std::size_t i = static_cast<std::size_t>(pixel) * n + k;
              const double value = static_cast<double>(x[i]) * scale[k] + shift[k];
              if (value > best) {
                best = value;
                place = i;
              }
            }
            const double slope = best > 0 ? dy[want_y.size()] : 0;
            want_y.push_back(std::max(0.0, best));
            want_sum[k] += slope;
            want_dot[k] += slope * (x[place] - mean[k]);
            want_dx[place] += slope * scale[k];
          }
    expect_near(y, want_y, 1e-5);
    expect_near(sum, want_sum, 1e-4);
    expect_near(dot, want_dot, 5e-4);
    expect_near(dx, want_dx, 5e-5);
  }
}

}  // namespace
}  // namespace veche::torch_model
