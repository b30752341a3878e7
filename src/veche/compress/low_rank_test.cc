// Numbers: docs/oracles.md, section Codecs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "veche/compress/matrices.h"
#include "veche/compress/power_gossip.h"
#include "veche/compress/summed_codec.h"
#include "veche/random.h"

namespace veche {
namespace {

std::vector<float> random_floats(std::size_t length, std::uint64_t seed) {
  RandomStream random(seed, "test");
  std::vector<float> x(length);
  for (float& value : x) value = static_cast<float>(random.normal());
  return x;
}

double squared_distance(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += (static_cast<double>(x[i]) - y[i]) * (static_cast<double>(x[i]) - y[i]);
  return sum;
}

StreamShape shape_of(const std::vector<std::vector<std::int64_t>>& tensors) {
  StreamShape shape;
  for (const auto& extents : tensors) {
    shape.tensors.push_back({.name = "t", .shape = extents, .strides = {}, .offset = shape.length});
    shape.length += floats_of(shape.tensors.back());
  }
  return shape;
}

StreamShape cnn() {
  return shape_of({{32, 1, 3, 3},
                   {32},
                   {32},
                   {32},
                   {64, 32, 3, 3},
                   {64},
                   {64},
                   {64},
                   {600, 2304},
                   {600},
                   {120, 600},
                   {120},
                   {10, 120},
                   {10}});
}

StreamShape resnet20() {
  std::vector<std::vector<std::int64_t>> tensors{{16, 3, 3, 3}, {16}, {16}};
  std::int64_t before = 16;
  for (const std::int64_t channels : {16, 32, 64})
    for (int layer = 0; layer < 6; ++layer, before = channels)
      tensors.insert(tensors.end(), {{channels, before, 3, 3}, {channels}, {channels}});
  tensors.insert(tensors.end(), {{10, 64}, {10}});
  return shape_of(tensors);
}

TEST(PowerSgd, FloatsOfAStep) {
  EXPECT_EQ(cnn().length, 1'475'338u);
  EXPECT_EQ(resnet20().length, 269'722u);
  const auto floats = [](const StreamShape& shape, int rank) {
    const auto codec = make_summed_codec(parse_codec("k", "powersgd:" + std::to_string(rank)), shape);
    const auto x = random_floats(shape.length, 1);
    std::size_t sum = 0;
    for (std::size_t k = 0; k < codec->phases(); ++k) sum += codec->phase(k, x, 0).size();
    return sum;
  };
  EXPECT_EQ(floats(resnet20(), 1), 7'791u);
  EXPECT_EQ(floats(resnet20(), 2), 14'196u);
  EXPECT_EQ(floats(resnet20(), 4), 27'006u);
  EXPECT_EQ(floats(cnn(), 1), 5'165u);
  EXPECT_EQ(floats(cnn(), 2), 9'312u);
  EXPECT_EQ(floats(cnn(), 4), 17'730u);
}

// diag(4, 1) would not shrink by the rule, so it is padded with zeros to 20 x 20.
struct Diagonal {
  static constexpr std::size_t kSide = 20;
  StreamShape shape = shape_of({{kSide, kSide}});
  std::vector<float> matrix = std::vector<float>(kSide * kSide);
  std::vector<float> start = std::vector<float>(kSide);  // (1, 1)

  Diagonal() {
    matrix[0] = 4;
    matrix[kSide + 1] = 1;
    start[0] = start[1] = 1;
  }
};

const std::vector<double> kPowerErrors{32.0 / 17, 1.003661, 1.0000143};

TEST(PowerSgd, ErrorsOfADiagonal) {
  const Diagonal d;
  MessagePool pool;
  const auto codec = make_codec(parse_codec("k", "powersgd:1"), d.shape);
  std::ranges::copy(d.start, codec->state().vectors.at(0).begin());
  const auto summed = make_summed_codec(parse_codec("k", "powersgd:1"), d.shape);
  std::ranges::copy(d.start, summed->state().vectors.at(0).begin());
  for (std::size_t round = 0; round < kPowerErrors.size(); ++round) {
    std::vector<float> told(d.matrix.size()), out(d.matrix.size());
    codec->add_decoded(codec->encode(d.matrix, round, pool).bytes(), 1, told);
    EXPECT_NEAR(squared_distance(told, d.matrix), kPowerErrors[round], 1e-6);
    for (std::size_t k = 0; k < summed->phases(); ++k) summed->phase(k, d.matrix, round);
    summed->finish(1, out);
    EXPECT_NEAR(squared_distance(out, d.matrix), kPowerErrors[round], 1e-6);
  }
}

// Nodes that sum their phases as an all-reduce does.
std::vector<std::vector<float>> sum_over(std::vector<std::unique_ptr<SummedCodec>>& nodes,
                                         const std::vector<std::vector<float>>& x, std::uint64_t round) {
  for (std::size_t k = 0; k < nodes[0]->phases(); ++k) {
    std::vector<std::span<float>> parts;
    for (std::size_t i = 0; i < nodes.size(); ++i) parts.push_back(nodes[i]->phase(k, x[i], round));
    for (std::size_t j = 0; j < parts[0].size(); ++j) {
      float sum = 0;
      for (const auto& part : parts) sum += part[j];
      for (const auto& part : parts) part[j] = sum;
    }
  }
  std::vector<std::vector<float>> out(nodes.size(), std::vector<float>(x[0].size()));
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i]->finish(1.0F / static_cast<float>(nodes.size()), out[i]);
  return out;
}

TEST(SummedCodec, NodesAgreeAndForgetNothing) {
  for (const char* word : {"powersgd:2", "randomk:0.1"})
    for (const std::size_t small : {0UL, 60UL}) {
      StreamShape shape = shape_of({{30, 40}, {50}, {8, 70, 2}});
      shape.small = small;
      shape.feedback = true;
      std::vector<std::unique_ptr<SummedCodec>> nodes;
      for (int i = 0; i < 3; ++i) nodes.push_back(make_summed_codec(parse_codec("k", word), shape));
      std::vector<double> given(shape.length), got(shape.length);
      for (std::uint64_t round = 0; round < 30; ++round) {
        std::vector<std::vector<float>> x;
        for (std::uint64_t i = 0; i < 3; ++i) x.push_back(random_floats(shape.length, round * 3 + i));
        for (const auto& own : x)
          for (std::size_t j = 0; j < shape.length; ++j) given[j] += own[j] / 3.0;
        const auto out = sum_over(nodes, x, round);
        EXPECT_EQ(out[0], out[1]);
        EXPECT_EQ(out[0], out[2]);
        for (std::size_t j = 0; j < shape.length; ++j) got[j] += out[0][j];
      }
      // Sent plus remembered equals given.
      for (const auto& node : nodes) {
        const auto memory = node->state().vectors.back();
        for (std::size_t j = 0; j < shape.length; ++j) got[j] += memory[j] / 3.0;
        EXPECT_GT(node->remembered_norm(), 0);
        EXPECT_LT(node->remembered_norm(), 40 * std::sqrt(static_cast<double>(shape.length)));
      }
      for (std::size_t j = 0; j < shape.length; ++j) ASSERT_NEAR(got[j], given[j], 1e-3) << word << " " << j;
    }
}

TEST(SummedCodec, WithoutMemoryRandomEntriesAreUnbiased) {
  const StreamShape shape = shape_of({{64}});
  std::vector<std::unique_ptr<SummedCodec>> nodes;
  for (int i = 0; i < 2; ++i) nodes.push_back(make_summed_codec(parse_codec("k", "randomk:0.25"), shape));
  const std::vector<std::vector<float>> x{random_floats(64, 1), random_floats(64, 2)};
  std::vector<double> mean(64);
  constexpr int kRounds = 10'000;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const auto out = sum_over(nodes, x, round);
    for (std::size_t i = 0; i < 64; ++i) mean[i] += out[0][i] / kRounds;
  }
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(mean[i], (x[0][i] + x[1][i]) / 2, 0.1);
}

TEST(SummedCodec, AMatrixOfZerosIsNoEnd) {
  StreamShape shape = shape_of({{30, 40}});
  std::vector<std::unique_ptr<SummedCodec>> nodes;
  nodes.push_back(make_summed_codec(parse_codec("k", "powersgd:2"), shape));
  std::vector<float> rank_two(shape.length);
  const auto a = random_floats(60, 1), b = random_floats(80, 2);
  for (std::size_t i = 0; i < 30; ++i)
    for (std::size_t j = 0; j < 40; ++j) rank_two[i * 40 + j] = a[i] * b[j] + a[30 + i] * b[40 + j];
  const auto zero = sum_over(nodes, {std::vector<float>(shape.length)}, 0);
  EXPECT_EQ(zero[0], std::vector<float>(shape.length));
  for (std::uint64_t round = 1; round < 3; ++round) {
    const auto out = sum_over(nodes, {rank_two}, round);  // rank two is sent exactly
    EXPECT_LT(squared_distance(out[0], rank_two), 1e-8 * squared_distance(zero[0], rank_two));
  }
}

TEST(Orthonormalize, MakesColumnsOrthonormal) {
  auto columns = random_floats(50 * 4, 1);
  std::copy_n(columns.begin(), 50, columns.begin() + 100);  // the third column depends on the first
  orthonormalize(columns.data(), 50, 4);
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      double dot = 0;
      for (std::size_t i = 0; i < 50; ++i)
        dot += static_cast<double>(columns[a * 50 + i]) * columns[b * 50 + i];
      EXPECT_NEAR(dot, a == b && a != 2 ? 1 : 0, 1e-6) << a << b;
    }
}

TEST(PowerGossip, MeetsOnADiagonalInThreeRounds) {
  const Diagonal d;
  MessagePool pool;
  PowerGossip one(1, d.shape, true), two(1, d.shape, false);
  std::vector<float> x = d.matrix, y(x.size());
  for (PowerGossip* end : {&one, &two}) std::ranges::copy(d.start, end->state().vectors.at(0).begin());
  EXPECT_DOUBLE_EQ(squared_distance(x, y), 17);
  std::uint64_t round = 0;
  for (const double expected : {17.0 / 2, 32.0 / 17, 0.0}) {
    const Message from_one = one.encode(x, round, pool), from_two = two.encode(y, round, pool);
    EXPECT_EQ(from_one.size(), one.code_bytes(round));
    one.move(from_two.bytes(), 0.5F, x);
    two.move(from_one.bytes(), 0.5F, y);
    EXPECT_NEAR(squared_distance(x, y), expected, 1e-5);
    ++round;
  }
}

TEST(PowerGossip, KeepsTheMeanAndMeets) {
  const StreamShape shape = shape_of({{30, 40}, {50}, {8, 70, 2}});
  MessagePool pool;
  for (const int rank : {1, 3}) {
    PowerGossip one(rank, shape, true), two(rank, shape, false);
    auto x = random_floats(shape.length, 1), y = random_floats(shape.length, 2);
    const auto x0 = x, y0 = y;
    const double apart = squared_distance(x, y);
    for (std::uint64_t round = 0; round < 200; ++round) {
      const Message from_one = one.encode(x, round, pool), from_two = two.encode(y, round, pool);
      one.move(from_two.bytes(), 0.5F, x);
      two.move(from_one.bytes(), 0.5F, y);
    }
    EXPECT_LT(squared_distance(x, y), 1e-3 * apart);
    for (std::size_t i = 0; i < shape.length; ++i) ASSERT_NEAR(x[i] + y[i], x0[i] + y0[i], 1e-4);
    const auto a = one.state().vectors, b = two.state().vectors;  // both ends continue from the same state
    for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(std::ranges::equal(a[i], b[i]));
  }
}

}  // namespace
}  // namespace veche
