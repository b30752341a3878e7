// Numbers: docs/oracles.md, section Codecs.
#include "veche/compress/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "veche/random.h"

namespace veche {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const std::vector<std::string> kEvery{"none",     "fp16",        "bf16",     "int8",        "qsgd:1",
                                      "qsgd:4",   "qsgd:127",    "sign",     "threshold:1", "topk:0.01",
                                      "topk:0.5", "randomk:0.1", "dgc:0.05", "powersgd:1",  "powersgd:3"};

CodecSpec spec_of(const std::string& word, bool zstd = false) {
  CodecSpec spec = parse_codec("compress.codec", word);
  spec.zstd = zstd;
  return spec;
}

std::vector<float> noise(std::size_t length, std::uint64_t seed = 1) {
  RandomStream random(seed, "test");
  std::vector<float> x(length);
  for (float& value : x) value = static_cast<float>(random.normal());
  return x;
}

// The decoded vector.
std::vector<float> decoded(Codec& codec, const Message& code, std::size_t length) {
  std::vector<float> x(length);
  codec.add_decoded(code.bytes(), 1, x);
  return x;
}

TensorLayout tensor(std::vector<std::int64_t> extents, std::size_t offset) {
  return {.name = "t", .shape = std::move(extents), .strides = {}, .offset = offset};
}

double distance_of(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += (static_cast<double>(x[i]) - y[i]) * (static_cast<double>(x[i]) - y[i]);
  return sum;
}

TEST(Qsgd, IsUnbiasedWithTheVarianceOfItsLevels) {
  MessagePool pool;
  const std::vector<float> x{3, 4};
  for (const auto& [levels, variance] : {std::pair{1, 10.0}, {2, 2.5}, {4, 0.625}, {5, 0.0}}) {
    const auto codec = make_codec(spec_of("qsgd:" + std::to_string(levels)), {.length = 2});
    constexpr int kRounds = 40'000;
    double first = 0, second = 0, squares = 0;
    for (int round = 0; round < kRounds; ++round) {
      const auto y = decoded(*codec, codec->encode(x, static_cast<std::uint64_t>(round), pool), 2);
      first += y[0];
      second += y[1];
      squares += distance_of(x, y);
    }
    EXPECT_NEAR(first / kRounds, 3, 0.05) << levels;
    EXPECT_NEAR(second / kRounds, 4, 0.05) << levels;
    EXPECT_NEAR(squares / kRounds, variance, variance == 0 ? 1e-12 : 0.02 * variance) << levels;
  }
}

TEST(Qsgd, RoundsSendersAndRoundsDifferently) {
  MessagePool pool;
  const auto x = noise(600);
  const auto one = make_codec(spec_of("qsgd:3"), {.length = x.size(), .sender = 1});
  const auto two = make_codec(spec_of("qsgd:3"), {.length = x.size(), .sender = 2});
  const auto same = [](const Message& a, const Message& b) {
    return std::ranges::equal(a.bytes(), b.bytes());
  };
  EXPECT_TRUE(same(one->encode(x, 5, pool), one->encode(x, 5, pool)));
  EXPECT_FALSE(same(one->encode(x, 5, pool), one->encode(x, 6, pool)));
  EXPECT_FALSE(same(one->encode(x, 5, pool), two->encode(x, 5, pool)));
}

TEST(ErrorFeedback, TopOneSendsWhatWasLeftOut) {
  MessagePool pool;
  const auto codec = make_codec(spec_of("topk:0.3"), {.length = 3, .feedback = true});
  const std::vector<float> g{5, 3, 1};
  const std::vector<std::vector<float>> sent{{5, 0, 0}, {0, 6, 0}, {10, 0, 0}, {0, 6, 0}, {10, 0, 0}};
  for (std::size_t round = 0; round < sent.size(); ++round)
    EXPECT_EQ(decoded(*codec, codec->encode(g, round, pool), 3), sent[round]) << round;
  const auto memory = codec->state().vectors.at(0);
  EXPECT_EQ(std::vector<float>(memory.begin(), memory.end()), (std::vector<float>{0, 3, 5}));
  EXPECT_DOUBLE_EQ(codec->remembered_norm(), std::sqrt(34.0));
}

TEST(ErrorFeedback, OfSigns) {
  MessagePool pool;
  const auto codec = make_codec(spec_of("sign"), {.length = 3, .feedback = true});
  const std::vector<float> x{3, -1, 2};
  const std::vector<double> scales{2, 2, 8.0 / 3};
  const std::vector<std::vector<double>> memories{{1, 1, 0}, {2, 0, 0}, {7.0 / 3, 5.0 / 3, -2.0 / 3}};
  for (std::size_t round = 0; round < 3; ++round) {
    const auto sent = decoded(*codec, codec->encode(x, round, pool), 3);
    EXPECT_NEAR(sent[0], scales[round], 1e-6);
    const auto memory = codec->state().vectors.at(0);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(memory[i], memories[round][i], 1e-6) << round;
  }
}

TEST(Dgc, SendsMomentumWhereItWasMasked) {
  MessagePool pool;
  const auto codec = make_codec(spec_of("dgc:0.3"), {.length = 3, .momentum = 0.9F});
  const std::vector<float> g{5, 3, 1};
  const std::vector<std::pair<std::size_t, double>> sent{{0, 5},     {1, 8.7},   {0, 14.5},
                                                         {2, 9.049}, {1, 16.83}, {0, 28.05}};
  for (std::size_t round = 0; round < sent.size(); ++round) {
    const auto y = decoded(*codec, codec->encode(g, round, pool), 3);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(y[i], i == sent[round].first ? sent[round].second : 0, 5e-3) << round;
  }
  const auto state = codec->state().vectors;
  const std::vector<double> u{0, 3, 1.9}, v{0, 3, 2.9};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(state.at(0)[i], u[i], 1e-5);
    EXPECT_NEAR(state.at(1)[i], v[i], 1e-5);
  }
}

TEST(Dgc, WarmsUpAndCutsGradients) {
  MessagePool pool;
  const auto x = noise(10'000);
  const auto codec = make_codec(spec_of("dgc:0.001"), {.length = x.size(), .rounds_per_epoch = 2});
  const std::vector<std::size_t> expected{2500, 2500, 630, 630, 150, 150, 40, 40, 10, 10};
  for (std::size_t round = 0; round < expected.size(); ++round) {
    const auto y = decoded(*codec, codec->encode(x, round, pool), x.size());
    EXPECT_EQ(y.size() - static_cast<std::size_t>(std::ranges::count(y, 0.0F)), expected[round]) << round;
  }
  // A norm of 5 is clipped to 2 / sqrt(4).
  const auto cut = make_codec(spec_of("dgc:1"), {.length = 2, .clip = 2, .nodes = 4});
  const auto y = decoded(*cut, cut->encode(std::vector<float>{3, 4}, 0, pool), 2);
  EXPECT_NEAR(y[0], 0.6, 1e-6);
  EXPECT_NEAR(y[1], 0.8, 1e-6);
}

TEST(Dgc, SmallTensorsHaveMomentumAndAreWhole) {
  MessagePool pool;
  const StreamShape shape{
      .length = 3, .tensors = {tensor({1}, 0), tensor({2}, 1)}, .small = 2, .momentum = 0.5F};
  const auto codec = make_codec(spec_of("dgc:0.5"), shape);
  const std::vector<float> g{1, 1, 3};
  EXPECT_EQ(decoded(*codec, codec->encode(g, 0, pool), 3), (std::vector<float>{1, 0, 3}));
  EXPECT_EQ(decoded(*codec, codec->encode(g, 1, pool), 3), (std::vector<float>{1.5, 0, 3}));
}

TEST(Topk, TakesTheFirstOfEquals) {
  MessagePool pool;
  std::vector<float> x(200'000, -1.0F);
  x[150'000] = 2;
  const auto codec = make_codec(spec_of("topk:0.00002"), {.length = x.size()});
  const auto y = decoded(*codec, codec->encode(x, 0, pool), x.size());
  std::vector<float> expected(x.size());
  expected[0] = expected[1] = expected[2] = -1;
  expected[150'000] = 2;
  EXPECT_EQ(y, expected);
}

TEST(Topk, TakesTheLargest) {
  MessagePool pool;
  for (const std::size_t length : {1UL, 7UL, 1000UL, 70'001UL, 300'000UL})
    for (const double part : {0.0001, 0.01, 0.2, 0.9}) {
      auto x = noise(length, length);
      if (length == 300'000) std::ranges::sort(x);  // a pattern that a sample may miss
      const auto codec = make_codec(spec_of("topk:" + std::to_string(part)), {.length = length});
      const auto y = decoded(*codec, codec->encode(x, 0, pool), length);
      const auto k = std::max<std::size_t>(
          1, static_cast<std::size_t>(std::llround(part * static_cast<double>(length))));
      auto sorted = x;
      std::ranges::sort(sorted, std::greater<>(), [](float value) { return std::abs(value); });
      const float least = std::abs(sorted[k - 1]);
      std::size_t sent = 0;
      for (std::size_t i = 0; i < length; ++i) {
        EXPECT_EQ(y[i], std::abs(x[i]) >= least ? x[i] : 0);
        sent += y[i] != 0;
      }
      EXPECT_EQ(sent, k) << length << " " << part;
    }
}

TEST(Threshold, SendsWhatReachesIt) {
  MessagePool pool;
  const std::vector<float> x{0.5F, -1, 0.999F, 7, 0};
  const auto codec = make_codec(spec_of("threshold:1"), {.length = x.size()});
  EXPECT_EQ(decoded(*codec, codec->encode(x, 0, pool), 5), (std::vector<float>{0, -1, 0, 7, 0}));
}

TEST(Randomk, IsUnbiasedAloneAndPlainWhereItIsRemembered) {
  MessagePool pool;
  const auto x = noise(103);
  const auto alone = make_codec(spec_of("randomk:0.1"), {.length = x.size()});
  const auto kept = make_codec(spec_of("randomk:0.1"), {.length = x.size(), .sender = 5, .remembered = true});
  std::vector<double> sum(x.size());
  constexpr int kRounds = 20'000;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const auto y = decoded(*alone, alone->encode(x, round, pool), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) sum[i] += y[i];
    if (round >= 10) continue;
    const auto z = decoded(*kept, kept->encode(x, round, pool), x.size());
    int sent = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(z[i], y[i] == 0 ? 0 : x[i]);  // the same entries from every sender
      sent += z[i] != 0;
    }
    EXPECT_EQ(sent, 10);
  }
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(sum[i] / kRounds, x[i], 0.1 * std::abs(x[i]) + 0.01);
}

TEST(Int8, IsWithinHalfAStepOfABlock) {
  MessagePool pool;
  auto x = noise(1000);
  for (std::size_t i = 256; i < 512; ++i) x[i] *= 1e-20F;
  for (std::size_t i = 512; i < 768; ++i) x[i] = 0;
  const auto codec = make_codec(spec_of("int8"), {.length = x.size()});
  const Message code = codec->encode(x, 0, pool);
  EXPECT_EQ(code.size(), 1000u + 4 * sizeof(float));
  const auto y = decoded(*codec, code, x.size());
  for (std::size_t start = 0; start < x.size(); start += 256) {
    float most = 0;
    const std::size_t end = std::min(start + 256, x.size());
    for (std::size_t i = start; i < end; ++i) most = std::max(most, std::abs(x[i]));
    for (std::size_t i = start; i < end; ++i) EXPECT_LE(std::abs(x[i] - y[i]), most / 254 * 1.0001F);
  }
}

TEST(Sign, HasAScaleForEachTensor) {
  MessagePool pool;
  const std::vector<float> x{1, -3, 0, 10, -20, 30};
  const StreamShape shape{.length = 6, .tensors = {tensor({2}, 0), tensor({3}, 3)}};
  const auto codec = make_codec(spec_of("sign"), shape);
  EXPECT_EQ(decoded(*codec, codec->encode(x, 0, pool), 6), (std::vector<float>{2, -2, 0, 20, -20, 20}));
}

TEST(Sign, TakesABitForAFloatThatIsNotZero) {
  MessagePool pool;
  auto x = noise(25'600);
  const auto codec = make_codec(spec_of("sign"), {.length = x.size()});
  EXPECT_EQ(codec->encode(x, 0, pool).size(), 4u + 13 + 3200);
  x[300] = x[301] = x[9000] = 0;
  EXPECT_EQ(codec->encode(x, 0, pool).size(), 4u + 13 + 3200 + 2 * 32);
}

TEST(Sparse, PlacesTakeAboutAByte) {
  MessagePool pool;
  const auto x = noise(1'000'000);
  const auto codec = make_codec(spec_of("topk:0.01"), {.length = x.size()});
  EXPECT_LT(codec->encode(x, 0, pool).size(), 10'000u * 5.5);
  EXPECT_LE(codec->encode(x, 0, pool).size(), codec->most_bytes());
}

TEST(SmallTensors, TravelAsTheyAre) {
  MessagePool pool;
  const std::size_t length = 40 * 50 + 30 + 5;
  const auto x = noise(length);
  const StreamShape shape{.length = length, .tensors = {tensor({30}, 0), tensor({40, 50}, 30)}, .small = 31};
  for (const std::string& word : kEvery) {
    if (word == "none") continue;
    for (const bool zstd : {false, true}) {
      const auto codec = make_codec(spec_of(word, zstd), shape);
      const auto y = decoded(*codec, codec->encode(x, 0, pool), length);
      for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(y[i], x[i]) << word;
      for (std::size_t i = length - 5; i < length; ++i) EXPECT_EQ(y[i], x[i]) << word;
      EXPECT_NE(y, x) << word;
    }
  }
}

TEST(Codecs, CodesAreNoLongerThanPromisedAndMuchShorter) {
  MessagePool pool;
  const std::size_t length = 200 * 300;
  const auto x = noise(length);
  const std::vector<std::pair<std::string, double>> ratios{
      {"fp16", 2},  {"bf16", 2},       {"int8", 3.9},        {"qsgd:1", 15},   {"qsgd:7", 7.7},
      {"sign", 31}, {"topk:0.01", 70}, {"randomk:0.01", 98}, {"dgc:0.01", 70}, {"powersgd:2", 59}};
  for (const auto& [word, ratio] : ratios) {
    const auto codec = make_codec(spec_of(word), {.length = length, .tensors = {tensor({200, 300}, 0)}});
    const Message code = codec->encode(x, 0, pool);
    EXPECT_LE(code.size(), codec->most_bytes()) << word;
    EXPECT_GE(4.0 * static_cast<double>(length) / static_cast<double>(code.size()), ratio) << word;
  }
}

// Properties of every codec, at every length and with every wrapper.
TEST(Codecs, FeedbackLosesNothing) {
  MessagePool pool;
  for (const std::string& word : kEvery)
    for (const std::size_t length : {1UL, 5UL, 64UL, 257UL, 2000UL})
      for (const bool zstd : {false, true}) {
        if (word.starts_with("dgc")) continue;
        const StreamShape shape{
            .length = length, .tensors = {tensor({static_cast<std::int64_t>(length)}, 0)}, .feedback = true};
        StreamShape matrix = shape;
        if (length == 2000) matrix.tensors = {tensor({40, 50}, 0)};
        const auto codec = make_codec(spec_of(word, zstd), matrix);
        const auto receiver = make_codec(spec_of(word, zstd), matrix);
        std::vector<double> given(length);
        std::vector<float> got(length);
        for (std::uint64_t round = 0; round < 20; ++round) {
          const auto x = noise(length, round + 1);
          for (std::size_t i = 0; i < length; ++i) given[i] += x[i];
          const Message code = codec->encode(x, round, pool);
          ASSERT_LE(code.size(), codec->most_bytes());
          receiver->add_decoded(code.bytes(), 1, got);
        }
        const SavedState state = codec->state();
        for (std::size_t i = 0; i < length; ++i)
          ASSERT_NEAR(got[i] + state.vectors.back()[i], given[i], 2e-4) << word << " " << length;
        // The error stays bounded: every round sends some of it.
        EXPECT_LT(codec->remembered_norm(), 40 * std::sqrt(static_cast<double>(length))) << word;
      }
}

TEST(Codecs, RememberedOnesAreContractions) {
  MessagePool pool;
  const auto x = noise(6000);
  for (const std::string& word : kEvery) {
    if (word.starts_with("dgc")) continue;
    const auto codec = make_codec(
        spec_of(word), {.length = x.size(), .tensors = {tensor({60, 100}, 0)}, .remembered = true});
    double left = 0;
    for (std::uint64_t round = 0; round < 10; ++round)
      left += distance_of(x, decoded(*codec, codec->encode(x, round, pool), x.size())) / 10;
    double all = 0;
    for (const float value : x) all += static_cast<double>(value) * value;
    if (word == "none")
      EXPECT_EQ(left, 0);
    else
      EXPECT_LT(left, 0.999 * all) << word;
  }
}

TEST(Codecs, DecodingIsLinearInTheWeight) {
  MessagePool pool;
  const auto x = noise(999);
  for (const std::string& word : kEvery) {
    const auto codec = make_codec(spec_of(word), {.length = x.size(), .tensors = {tensor({27, 37}, 0)}});
    const Message code = codec->encode(x, 0, pool);
    const auto y = decoded(*codec, code, x.size());
    std::vector<float> z(x.size(), 1.0F);
    codec->add_decoded(code.bytes(), -0.25F, z);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(z[i], 1 - 0.25F * y[i], 1e-5) << word;
  }
}

TEST(Codecs, DivergenceIsTold) {
  MessagePool pool;
  for (const char* word : {"int8", "qsgd:4", "sign", "threshold:1", "topk:0.01", "dgc:0.05", "powersgd:1"})
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      auto x = noise(500);
      x[321] = bad;
      const auto codec = make_codec(spec_of(word), {.length = x.size(), .tensors = {tensor({20, 25}, 0)}});
      EXPECT_THROW(codec->encode(x, 0, pool), NotANumber) << word;
    }
}

TEST(Codecs, MemoriesContinueFromWhatWasSaved) {
  MessagePool pool;
  for (const std::string& word : kEvery) {
    const StreamShape shape{
        .length = 1200, .tensors = {tensor({30, 40}, 0)}, .feedback = true, .momentum = 0.9F};
    const auto codec = make_codec(spec_of(word), shape);
    for (std::uint64_t round = 0; round < 3; ++round) codec->encode(noise(1200, round), round, pool);
    const auto resumed = make_codec(spec_of(word), shape);
    const SavedState from = codec->state(), to = resumed->state();
    ASSERT_EQ(from.vectors.size(), to.vectors.size());
    for (std::size_t i = 0; i < from.vectors.size(); ++i)
      std::ranges::copy(from.vectors[i], to.vectors[i].begin());
    for (std::uint64_t round = 3; round < 6; ++round) {
      const auto x = noise(1200, round);
      EXPECT_TRUE(
          std::ranges::equal(codec->encode(x, round, pool).bytes(), resumed->encode(x, round, pool).bytes()))
          << word;
    }
  }
}

TEST(TensorsWithin, CutsBecomeVectors) {
  const std::vector<TensorLayout> whole{tensor({2, 3}, 0), tensor({4}, 6), tensor({5, 2}, 10)};
  const auto part = tensors_within(whole, 4, 12);
  ASSERT_EQ(part.size(), 3u);
  EXPECT_EQ(part[0].shape, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(part[0].offset, 0u);
  EXPECT_EQ(part[1].shape, (std::vector<std::int64_t>{4}));
  EXPECT_EQ(part[1].offset, 2u);
  EXPECT_EQ(part[2].shape, (std::vector<std::int64_t>{6}));
  EXPECT_EQ(part[2].offset, 6u);
}

}  // namespace
}  // namespace veche
