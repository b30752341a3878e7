#include "veche/model/torch/kernels/winograd.h"

#include <gtest/gtest.h>

#include <cmath>

#include "veche/base/machine/with_instruction_set.h"
#include "veche/random.h"

namespace veche::torch_model {
namespace {

std::vector<float> normal_numbers(std::int64_t count, std::uint64_t stream_number) {
  RandomStream stream(1, "winograd", stream_number);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

// All three passes by definition: visits every product of a convolution.
template <class Visit>
void for_each_product(const WinogradSize& s, Visit visit) {
  for (std::int64_t n = 0; n < s.images; ++n)
    for (std::int64_t h = 0; h < s.output_height(); ++h)
      for (std::int64_t w = 0; w < s.output_width(); ++w)
        for (std::int64_t tap = 0; tap < 9; ++tap) {
          const std::int64_t from_h = h + tap / 3 - s.padding, from_w = w + tap % 3 - s.padding;
          if (from_h < 0 || from_h >= s.height || from_w < 0 || from_w >= s.width) continue;
          for (std::int64_t o = 0; o < s.out; ++o)
            for (std::int64_t i = 0; i < s.in; ++i)
              visit(((n * s.height + from_h) * s.width + from_w) * s.in + i, (o * 9 + tap) * s.in + i,
                    ((n * s.output_height() + h) * s.output_width() + w) * s.out + o);
        }
}

void expect_close(const std::vector<float>& values, const std::vector<double>& expected) {
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], 2e-5 * largest) << i;
}

class Winograd : public ::testing::TestWithParam<std::string> {
  const WithInstructionSet limited_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(All, Winograd, ::testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

// Sizes with and without partial tiles, every padding, and more tiles than one block.
TEST_P(Winograd, IsTheConvolutionAndItsGradients) {
  for (const WinogradSize& size : {WinogradSize{2, 8, 8, 32, 32, 1}, WinogradSize{3, 14, 13, 32, 48, 0},
                                   WinogradSize{1, 6, 9, 48, 32, 2}, WinogradSize{9, 10, 11, 16, 16, 1}}) {
    const auto x = normal_numbers(size.images * size.height * size.width * size.in, 1);
    const auto weight = normal_numbers(size.out * 9 * size.in, 2);
    const auto dy = normal_numbers(size.images * size.output_height() * size.output_width() * size.out, 3);
    const auto bias = normal_numbers(size.out, 4);
    std::vector<double> want_y(dy.size()), want_dx(x.size()), want_dweight(weight.size());
    for_each_product(size, [&](std::int64_t from, std::int64_t tap, std::int64_t to) {
      const auto i = static_cast<std::size_t>(from), k = static_cast<std::size_t>(tap),
                 o = static_cast<std::size_t>(to);
      want_y[o] += static_cast<double>(x[i]) * static_cast<double>(weight[k]);
      want_dx[i] += static_cast<double>(dy[o]) * static_cast<double>(weight[k]);
      want_dweight[k] += static_cast<double>(dy[o]) * static_cast<double>(x[i]);
    });
    std::vector<float> y(dy.size(), 7), dx(x.size(), 7), dweight(weight.size(), 7);
    std::vector<float> forth(winograd_weights(size), NAN), back(winograd_weights(size), NAN);
    std::vector<float> work(winograd_gradient_work(size) + winograd_taps(size), NAN);
    winograd_forward_weights(size, weight.data(), forth.data(), work.data());
    winograd_backward_weights(size, weight.data(), back.data());
    std::ranges::fill(work, NAN);
    winograd_forward(size, x.data(), forth.data(), nullptr, y.data(), work.data());
    expect_close(y, want_y);
    for (std::size_t i = 0; i < want_y.size(); ++i) want_y[i] += bias[i % bias.size()];
    std::ranges::fill(work, NAN);
    winograd_forward(size, x.data(), forth.data(), bias.data(), y.data(), work.data());
    expect_close(y, want_y);
    std::ranges::fill(work, NAN);
    winograd_input_gradient(size, dy.data(), back.data(), dx.data(), work.data());
    expect_close(dx, want_dx);
    std::ranges::fill(work, NAN);
    winograd_weight_gradient(size, x.data(), dy.data(), false, dweight.data(), work.data());
    expect_close(dweight, want_dweight);
    for (double& gradient : want_dweight) gradient *= 2;
    std::ranges::fill(work, NAN);
    winograd_weight_gradient(size, x.data(), dy.data(), true, dweight.data(), work.data());
    expect_close(dweight, want_dweight);
  }
}

TEST(WinogradChoice, IsForManyChannelsAndWholeTiles) {
  EXPECT_TRUE(winograd_pays({32, 16, 16, 32, 32, 1}));
  EXPECT_TRUE(winograd_pays({32, 32, 32, 16, 16, 1}));
  EXPECT_FALSE(winograd_pays({32, 32, 32, 3, 16, 1}));
  EXPECT_FALSE(winograd_pays({32, 32, 32, 40, 64, 1}));
  EXPECT_FALSE(winograd_pays({32, 4, 4, 64, 64, 1}));
  EXPECT_FALSE(winograd_pays({2, 8, 8, 64, 64, 1})) << "its weights would take longer than its tiles";
  EXPECT_TRUE(winograd_pays({4, 8, 8, 64, 64, 1}, true)) << "its weights are there";
}

}  // namespace
}  // namespace veche::torch_model
