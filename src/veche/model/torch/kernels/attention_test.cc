#include "veche/model/torch/kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "veche/base/machine/with_instruction_set.h"
#include "veche/random.h"

namespace veche::torch_model {
namespace {

std::vector<float> normal_numbers(std::int64_t count, std::uint64_t number) {
  RandomStream stream(1, "attention", number);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

// By definition, in double precision.
struct Definition {
  Definition(const AttentionSize& size, std::vector<float> qkv) : s(size), all(qkv.begin(), qkv.end()) {}

  double& in(int part, std::int64_t n, std::int64_t h, std::int64_t i, std::int64_t c) {
    return all[static_cast<std::size_t>(((n * s.length + i) * 3 + part) * s.row() + h * s.width + c)];
  }
  std::vector<double> forward() {
    std::vector<double> out(static_cast<std::size_t>(s.sequences * s.length * s.row()));
    for (std::int64_t n = 0; n < s.sequences; ++n)
      for (std::int64_t h = 0; h < s.heads; ++h)
        for (std::int64_t i = 0; i < s.length; ++i) {
          std::vector<double> share;
          double sum = 0;
          for (std::int64_t j = 0; j <= i; ++j) {
            double score = 0;
            for (std::int64_t c = 0; c < s.width; ++c) score += in(0, n, h, i, c) * in(1, n, h, j, c);
            share.push_back(std::exp(score / std::sqrt(static_cast<double>(s.width))));
            sum += share.back();
          }
          for (std::int64_t c = 0; c < s.width; ++c)
            for (std::int64_t j = 0; j <= i; ++j)
              out[static_cast<std::size_t>((n * s.length + i) * s.row() + h * s.width + c)] +=
                  share[static_cast<std::size_t>(j)] / sum * in(2, n, h, j, c);
        }
    return out;
  }
  const AttentionSize s;
  std::vector<double> all;
};

double dot(const std::vector<double>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

struct Result {
  std::vector<float> out, gradient;
};

Result run(const AttentionSize& size, const AttentionDropout& dropout, const std::vector<float>& qkv,
           const std::vector<float>& dout) {
  Result result{std::vector<float>(dout.size()), std::vector<float>(qkv.size())};
  std::vector<float> sums(static_cast<std::size_t>(size.pairs() * size.length));
  std::vector<float> work(attention_work(size), NAN);
  attention_forward(size, dropout, qkv.data(), result.out.data(), sums.data(), 0, size.pairs(), work.data());
  attention_backward(size, dropout, qkv.data(), result.out.data(), sums.data(), dout.data(),
                     result.gradient.data(), 0, size.pairs(), work.data());
  return result;
}

// The derivative of dout . attention(qkv) along a direction, by central differences.
double slope(const AttentionSize& size, const std::vector<float>& qkv, const std::vector<float>& dout,
             const std::vector<float>& direction) {
  constexpr double kStep = 1e-5;
  Definition up(size, qkv), down(size, qkv);
  for (std::size_t i = 0; i < qkv.size(); ++i) {
    up.all[i] += kStep * direction[i];
    down.all[i] -= kStep * direction[i];
  }
  return (dot(up.forward(), dout) - dot(down.forward(), dout)) / (2 * kStep);
}

class Attention : public ::testing::TestWithParam<std::string> {
  const WithInstructionSet limited_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(All, Attention, ::testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return info.param; });

// Lengths and widths that fill vectors and strips, and such that do not.
constexpr AttentionSize kSizes[] = {{2, 64, 4, 32}, {1, 1, 2, 8}, {2, 37, 3, 10}, {1, 50, 2, 16}};

TEST_P(Attention, IsTheDefinitionAndItsGradient) {
  for (const AttentionSize& size : kSizes) {
    const std::vector<float> qkv = normal_numbers(size.sequences * size.length * 3 * size.row(), 0);
    const std::vector<float> dout = normal_numbers(size.sequences * size.length * size.row(), 1);
    const Result result = run(size, {}, qkv, dout);
    const std::vector<double> expected = Definition(size, qkv).forward();
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(result.out[i], expected[i], 1e-5) << i;
    for (std::uint64_t k = 2; k < 5; ++k) {
      const std::vector<float> direction = normal_numbers(static_cast<std::int64_t>(qkv.size()), k);
      const double ours = dot({result.gradient.begin(), result.gradient.end()}, direction);
      const double theirs = slope(size, qkv, dout, direction);
      EXPECT_NEAR(ours, theirs, 1e-4 * std::sqrt(static_cast<double>(qkv.size()))) << size.length;
    }
  }
}

// With values of 1 every result is the sum of the kept shares: 1 on average. Results are linear in
// the values, so the values' gradient is exact for any step.
TEST_P(Attention, DropsSharesAndScalesTheRest) {
  const AttentionSize size{4, 64, 4, 16};
  std::vector<float> qkv = normal_numbers(size.sequences * size.length * 3 * size.row(), 0);
  for (std::size_t i = 0; i < qkv.size(); ++i)
    if (static_cast<std::int64_t>(i) / size.row() % 3 == 2) qkv[i] = 1;
  const std::vector<float> dout = normal_numbers(size.sequences * size.length * size.row(), 1);
  const AttentionDropout dropout{0.2, 7};
  const Result result = run(size, dropout, qkv, dout);
  double sum = 0;
  for (const float value : result.out) sum += value;
  EXPECT_NEAR(sum / static_cast<double>(result.out.size()), 1, 0.02);
  EXPECT_EQ(run(size, dropout, qkv, dout).out, result.out);
  EXPECT_NE(run(size, {0.2, 8}, qkv, dout).out, result.out);

  std::vector<float> moved = qkv;
  double predicted = 0, difference = 0;
  for (std::size_t i = 0; i < qkv.size(); ++i)
    if (static_cast<std::int64_t>(i) / size.row() % 3 == 2) {
      moved[i] += static_cast<float>(i % 5) - 2;
      predicted += (moved[i] - qkv[i]) * result.gradient[i];
    }
  const Result after = run(size, dropout, moved, dout);
  for (std::size_t i = 0; i < dout.size(); ++i) difference += (after.out[i] - result.out[i]) * dout[i];
  EXPECT_NEAR(difference, predicted, 1e-2);
}

TEST_P(Attention, IsTheSameTokenByToken) {
  const AttentionSize size{1, 40, 3, 10};
  const std::vector<float> qkv = normal_numbers(size.length * 3 * size.row(), 0);
  const Result whole =
      run(size, {}, qkv, std::vector<float>(static_cast<std::size_t>(size.length * size.row())));
  constexpr std::int64_t kRoom = 48, kRow = 16;
  std::vector<float> keys(static_cast<std::size_t>(size.row() * kRoom), NAN);
  std::vector<float> values(static_cast<std::size_t>(size.heads * kRoom * kRow)), work(kRoom + kRow);
  std::vector<float> out(static_cast<std::size_t>(size.row()));
  for (std::int64_t i = 0; i < size.length; ++i) {
    attention_step(size.heads, size.width, {keys.data(), values.data(), kRoom, kRow}, i,
                   qkv.data() + i * 3 * size.row(), out.data(), work.data());
    for (std::int64_t c = 0; c < size.row(); ++c)
      ASSERT_NEAR(out[static_cast<std::size_t>(c)], whole.out[static_cast<std::size_t>(i * size.row() + c)],
                  1e-5);
  }
}

}  // namespace
}  // namespace veche::torch_model
