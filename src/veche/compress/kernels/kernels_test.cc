#include "veche/compress/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "veche/base/machine/denormals.h"
#include "veche/base/machine/with_instruction_set.h"
#include "veche/compress/half.h"
#include "veche/random.h"

namespace veche::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class EveryInstructionSet : public ::testing::TestWithParam<std::string> {
 protected:
  const WithInstructionSet only_{GetParam()};
};

std::vector<std::uint16_t> every_code() {
  std::vector<std::uint16_t> codes(65536);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
  return codes;
}

// Value of a code that is a number, by the definition of the two formats.
double value_of(HalfFormat format, std::uint16_t code) {
  const int bits = format == HalfFormat::fp16 ? 10 : 7, bias = format == HalfFormat::fp16 ? 15 : 127;
  const int exponent = (code & 0x7fff) >> bits, mantissa = code & ((1 << bits) - 1);
  const double size = exponent == 0 ? std::ldexp(mantissa, 1 - bias - bits)
                                    : std::ldexp(mantissa + (1 << bits), exponent - bias - bits);
  return (code & 0x8000) != 0 ? -size : size;
}

TEST_P(EveryInstructionSet, EveryHalfThereAndBack) {
  for (const bool flush : {false, true}) {
    std::unique_ptr<FlushDenormals> during = flush ? std::make_unique<FlushDenormals>() : nullptr;
    for (const auto format : {HalfFormat::fp16, HalfFormat::bf16}) {
      const auto codes = every_code();
      const unsigned infinity = format == HalfFormat::fp16 ? 0x7c00 : 0x7f80;
      std::vector<float> values(codes.size());
      std::vector<std::uint16_t> back(codes.size());
      from_half(format, codes, values);
      to_half(format, values, back);
      for (const std::uint16_t code : codes) {
        if ((code & 0x7fffU) > infinity) {
          ASSERT_TRUE(std::isnan(values[code])) << code;
          ASSERT_GT(back[code] & 0x7fffU, infinity) << code;  // a NaN; a signalling one may become quiet
          continue;
        }
        const double sign = (code & 0x8000) != 0 ? -1 : 1;
        const double expected = (code & 0x7fffU) == infinity ? sign * kInfinity : value_of(format, code);
        const auto value = static_cast<double>(values[code]);
        ASSERT_TRUE(value == expected || (flush && std::abs(expected) < 1.2e-38)) << code;
        ASSERT_EQ(back[code], code);
      }
    }
  }
}

TEST_P(EveryInstructionSet, HalvesAreTheNearest) {
  RandomStream random(1, "test");
  for (const auto format : {HalfFormat::fp16, HalfFormat::bf16}) {
    const double part = format == HalfFormat::fp16 ? 0x1p-11 : 0x1p-8;  // bf16 would allow 2^-9
    std::vector<float> x(10'007), y(x.size());
    for (float& value : x)
      value = static_cast<float>(random.normal() * std::pow(10, 4 * random.uniform() - 3));
    std::vector<std::uint16_t> code(x.size());
    to_half(format, x, code);
    from_half(format, code, y);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(std::abs(x[i] - y[i]), std::max(part * std::abs(x[i]), 0x1p-25))
          << x[i];  // 2^-24: the smallest number
    // Half-way between two codes: the even one.
    const int bits = format == HalfFormat::fp16 ? 10 : 7;
    const std::vector<float> ties{1 + std::ldexp(1.0F, -bits - 1), 1 + std::ldexp(3.0F, -bits - 1)};
    std::vector<std::uint16_t> tied(2);
    to_half(format, ties, tied);
    EXPECT_EQ(tied[0] & 1, 0);
    EXPECT_EQ(tied[1] & 1, 0);
    EXPECT_EQ(tied[1] - tied[0], 2);
  }
}

TEST_P(EveryInstructionSet, HalvesOfWhatIsTooLarge) {
  const std::vector<float> x{70000,     -70000,     65519, 65520,      3e38F,
                             kInfinity, -kInfinity, kNan,  3.3999e38F, 1e-9F};
  std::vector<std::uint16_t> code(x.size());
  std::vector<float> y(x.size());
  to_half(HalfFormat::fp16, x, code);
  from_half(HalfFormat::fp16, code, y);
  EXPECT_EQ(y[0], 65504);
  EXPECT_EQ(y[1], -65504);
  EXPECT_EQ(y[2], 65504);
  EXPECT_EQ(y[3], 65504);
  EXPECT_EQ(y[4], 65504);
  EXPECT_EQ(y[5], kInfinity);
  EXPECT_EQ(y[6], -kInfinity);
  EXPECT_TRUE(std::isnan(y[7]));
  EXPECT_EQ(y[9], 0);
  to_half(HalfFormat::bf16, x, code);
  from_half(HalfFormat::bf16, code, y);
  EXPECT_TRUE(std::isfinite(y[8]));
  EXPECT_EQ(y[5], kInfinity);
  EXPECT_TRUE(std::isnan(y[7]));
}

TEST_P(EveryInstructionSet, AHopOfARingAddsAndRounds) {
  for (const auto format : {HalfFormat::fp16, HalfFormat::bf16})
    for (const std::size_t length : {1UL, 15UL, 16UL, 33UL}) {
      std::vector<float> x(length), sum(length);
      for (std::size_t i = 0; i < length; ++i) x[i] = static_cast<float>(i) * 0.37F - 2;
      std::vector<std::uint16_t> code(length), expected(length);
      to_half(format, x, code);
      from_half(format, code, sum);
      for (std::size_t i = 0; i < length; ++i) sum[i] += x[i];
      to_half(format, sum, expected);
      add_to_half(format, x, code, code);
      EXPECT_EQ(code, expected);
    }
}

// The output of every kernel, for vectors of all lengths.
std::vector<std::uint8_t> everything() {
  std::vector<std::uint8_t> bytes;
  const auto keep = [&](const auto& items) {
    const auto* const start = reinterpret_cast<const std::uint8_t*>(items.data());
    bytes.insert(bytes.end(), start, start + items.size() * sizeof(items[0]));
  };
  RandomStream random(3, "test");
  for (const std::size_t n : {1UL, 2UL, 31UL, 64UL, 65UL, 255UL, 256UL, 257UL, 1000UL}) {
    std::vector<float> x(n);
    for (float& value : x) value = random.below(9) == 0 ? 0.0F : static_cast<float>(random.normal());
    std::vector<std::uint16_t> halves(n);
    std::vector<float> into(n, 0.1F), scales(blocks_of(n));
    to_fp16(x.data(), n, halves.data());
    keep(halves);
    add_fp16(halves.data(), n, 0.3F, into.data());
    to_bf16(x.data(), n, halves.data());
    keep(halves);
    add_bf16(halves.data(), n, 0.3F, into.data());
    std::vector<std::int8_t> numbers(n);
    EXPECT_TRUE(to_int8(x.data(), n, scales.data(), numbers.data()));
    keep(scales);
    keep(numbers);
    add_int8(scales.data(), numbers.data(), n, 0.7F, into.data());
    for (const int levels : {1, 5, 127}) {
      std::vector<std::uint8_t> planes(blocks_of(n) * kBlock / 8 *
                                       static_cast<std::size_t>(bits_of_levels(levels)));
      EXPECT_TRUE(to_levels(x.data(), n, levels, 77, scales.data(), planes.data()));
      EXPECT_TRUE(levels_in_range(planes.data(), n, levels));
      keep(scales);
      keep(planes);
      add_levels(scales.data(), planes.data(), n, levels, -0.2F, into.data());
    }
    std::vector<std::uint8_t> negative(bytes_of_bits(n)), with_zeros(bytes_of_bits(blocks_of(n))),
        present(bytes_of_bits(n));
    present.resize(sign_bits(x.data(), n, negative.data(), with_zeros.data(), present.data()));
    keep(negative);
    keep(with_zeros);
    keep(present);
    add_signs(negative.data(), nullptr, n, 0.01F, into.data());
    add_signs(negative.data(), negative.data(), n, 0.4F, into.data());
    keep(into);
    std::vector<std::uint32_t> places(n);
    places.resize(find_large(x.data(), n, std::bit_cast<std::uint32_t>(0.5F), places.data()));
    keep(places);
    keep(std::vector<double>{sum_of_magnitudes(x.data(), n), dot(x.data(), into.data(), n)});
  }
  for (const std::size_t rank : {1UL, 2UL, 3UL, 5UL}) {
    const std::size_t n = 13, m = 1100;
    std::vector<float> matrix(n * m), memory(n * m, 0.5F), out(n * m), p(n * rank), q(m * rank);
    for (auto* values : {&matrix, &q})
      for (float& value : *values) value = static_cast<float>(random.normal());
    times_right(matrix.data(), n, m, q.data(), rank, p.data());
    keep(p);
    add_and_times_right(matrix.data(), n, m, q.data(), rank, memory.data(), p.data());
    keep(p);
    times_left(memory.data(), n, m, p.data(), rank, q.data());
    keep(q);
    product(p.data(), q.data(), n, m, rank, 0.3F, out.data(), memory.data());
    add_product(p.data(), q.data(), n, m, rank, -0.1F, out.data());
    keep(out);
    keep(memory);
  }
  return bytes;
}

TEST(InstructionSets, GiveTheSameBits) {
  std::vector<std::uint8_t> first;
  for (const std::string& name : instruction_sets()) {
    const WithInstructionSet only(name);
    const auto here = everything();
    if (first.empty()) first = here;
    EXPECT_TRUE(here == first) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, EveryInstructionSet, ::testing::ValuesIn(instruction_sets()),
                         [](const auto& name) { return name.param; });

TEST(LowRank, ProductsAreThoseOfMatrices) {
  // (1 2 3; 4 5 6) times (1 0 -1)' is (-2 -2)'; its transpose times (1 1)' is (5 7 9)'.
  const std::vector<float> matrix{1, 2, 3, 4, 5, 6}, q{1, 0, -1}, ones{1, 1};
  std::vector<float> p(2), back(3), out(6), memory(6, 1.0F);
  times_right(matrix.data(), 2, 3, q.data(), 1, p.data());
  EXPECT_EQ(p, (std::vector<float>{-2, -2}));
  times_left(matrix.data(), 2, 3, ones.data(), 1, back.data());
  EXPECT_EQ(back, (std::vector<float>{5, 7, 9}));
  product(ones.data(), back.data(), 2, 3, 1, 2, out.data(), memory.data());
  EXPECT_EQ(out, (std::vector<float>{10, 14, 18, 10, 14, 18}));
  EXPECT_EQ(memory, (std::vector<float>{-9, -13, -17, -9, -13, -17}));
}

}  // namespace
}  // namespace veche::kernels
