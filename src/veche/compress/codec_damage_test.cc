// Codes that no encoder can produce are refused, and nothing is written inside or outside the
// vector.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "veche/compress/codec.h"
#include "veche/compress/majority.h"
#include "veche/compress/power_gossip.h"
#include "veche/random.h"

namespace veche {
namespace {

constexpr std::size_t kLength = 2000 + 70 + 5;
constexpr std::size_t kGuard = 64;
constexpr float kUntouched = 12.5F;

StreamShape damage_shape() {
  StreamShape shape{.length = kLength};
  shape.tensors.push_back({.name = "matrix", .shape = {40, 50}, .strides = {}, .offset = 0});
  shape.tensors.push_back({.name = "small", .shape = {70}, .strides = {}, .offset = 2000});
  shape.small = 80;
  return shape;
}

std::vector<float> some_floats(std::uint64_t seed) {
  RandomStream random(seed, "damage");
  std::vector<float> x(kLength);
  for (float& value : x) value = random.below(50) == 0 ? 0.0F : static_cast<float>(random.normal());
  return x;
}

// Whether the code is refused. Checks that a refusal writes nothing, and that nothing is ever
// written beyond the vector.
template <class Decode>
bool refused(Decode decode) {
  std::vector<float> room(kLength + 2 * kGuard, kUntouched);
  bool result = false;
  try {
    decode(std::span(room).subspan(kGuard, kLength));
  } catch (const DamagedCode& damage) {
    result = true;
    EXPECT_TRUE(std::ranges::all_of(room, [](float x) { return x == kUntouched; })) << damage.what();
  }
  for (std::size_t i = 0; i < kGuard; ++i)
    EXPECT_TRUE(room[i] == kUntouched && room[room.size() - 1 - i] == kUntouched);
  return result;
}

bool refused(Codec& codec, std::span<const std::byte> code) {
  return refused([&](std::span<float> into) { codec.add_decoded(code, 1, into); });
}

class Damage : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Codec> codec_ = make_codec(parse_codec("k", GetParam()), damage_shape());
  MessagePool pool_;
  const Message code_ = codec_->encode(some_floats(1), 0, pool_);
};

TEST_P(Damage, OfTheLength) {
  EXPECT_FALSE(refused(*codec_, code_.bytes()));
  std::vector<std::byte> longer(code_.bytes().begin(), code_.bytes().end());
  longer.push_back(std::byte{0});
  EXPECT_TRUE(refused(*codec_, longer));
  for (std::size_t size = 0; size < code_.size(); size += 1 + size / 16)
    EXPECT_TRUE(refused(*codec_, code_.bytes().first(size))) << size;
}

TEST_P(Damage, OfAnyByteWritesNothingOutside) {
  const std::vector<std::byte> good(code_.bytes().begin(), code_.bytes().end());
  RandomStream random(2, "damage");
  for (int time = 0; time < 2000; ++time) {
    std::vector<std::byte> bad = good;
    for (int i = 0; i < 1 + time % 4; ++i)
      bad[random.below(std::min<std::size_t>(bad.size(), time % 2 == 0 ? 400 : bad.size()))] =
          static_cast<std::byte>(random.below(256));
    refused(*codec_, bad);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Damage,
                         ::testing::Values("none", "fp16", "bf16", "int8", "qsgd:1", "qsgd:5", "qsgd:127",
                                           "sign", "threshold:1", "topk:0.01", "topk:0.5", "randomk:0.1",
                                           "dgc:0.05", "powersgd:2"));

// Overwrites `value` at offset `at` in the code of a stream without small tensors.
template <class T>
bool refused_with(const std::string& word, std::size_t at, T value) {
  MessagePool pool;
  StreamShape shape = damage_shape();
  shape.small = 0;
  const auto codec = make_codec(parse_codec("k", word), shape);
  const Message code = codec->encode(some_floats(1), 0, pool);
  std::vector<std::byte> bad(code.bytes().begin(), code.bytes().end());
  std::memcpy(bad.data() + at, &value, sizeof(value));
  return refused(*codec, bad);
}

TEST(Damages, OfScales) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (const char* word : {"int8", "qsgd:5", "sign"}) EXPECT_TRUE(refused_with(word, 4, bad)) << word;
  EXPECT_FALSE(refused_with("int8", 4, 0.5F));
}

TEST(Damages, OfLevels) {
  // Seven of eight codes are valid: 0 to 6. Planes start after the norms of nine blocks.
  for (std::size_t plane = 0; plane < 2; ++plane)
    EXPECT_FALSE(refused_with<std::uint8_t>("qsgd:3", 36 + 32 * plane, 0));
  MessagePool pool;
  const auto codec = make_codec(parse_codec("k", "qsgd:3"), {.length = 8});
  const Message code = codec->encode(std::vector<float>(8, 1.0F), 0, pool);
  std::vector<std::byte> bad(code.bytes().begin(), code.bytes().end());
  for (const std::size_t plane : {0, 1, 2}) bad[4 + 32 * plane] = std::byte{0xff};
  std::vector<float> into(8);
  EXPECT_THROW(codec->add_decoded(bad, 1, into), DamagedCode);
}

TEST(Damages, OfPlaces) {
  // The number of entries; the gap before the first of twenty-one.
  EXPECT_TRUE(refused_with<std::uint32_t>("topk:0.01", 0, kLength + 1));
  EXPECT_TRUE(refused_with<std::uint32_t>("topk:0.01", 0, 20));
  EXPECT_TRUE(refused_with<std::uint32_t>("topk:0.01", 0, 22));
  const std::size_t gaps = 4 + 21 * 4;
  EXPECT_TRUE(refused_with<std::uint64_t>("topk:0.01", gaps, ~std::uint64_t{0}));
  EXPECT_TRUE(refused_with<std::uint32_t>("topk:0.01", 4, 0x7fc00000));           // NaN
  EXPECT_TRUE(refused_with<std::uint8_t>("topk:0.5", 4 + 1038 * 4 + 259, 0xff));  // bits beyond the end
}

TEST(Damages, OfWhatWasPacked) {
  MessagePool pool;
  CodecSpec spec = parse_codec("k", "int8");
  spec.zstd = true;
  const auto codec = make_codec(spec, damage_shape());
  const Message code = codec->encode(some_floats(1), 0, pool);
  EXPECT_FALSE(refused(*codec, code.bytes()));
  for (std::size_t at = 0; at < code.size(); at += 7) {
    std::vector<std::byte> bad(code.bytes().begin(), code.bytes().end());
    bad[at] ^= std::byte{0x40};
    EXPECT_TRUE(refused(*codec, bad)) << at;  // protected by a checksum
  }
  // A frame that expands to a gigabyte of zeros is not unpacked.
  CodecSpec raw = parse_codec("k", "none");
  raw.zstd = true;
  const auto longer = make_codec(raw, {.length = 1 << 22});
  const Message zeros = longer->encode(std::vector<float>(1 << 22), 0, pool);
  EXPECT_LT(zeros.size(), 4096u);
  EXPECT_TRUE(refused(*codec, zeros.bytes()));
}

TEST(Damages, OfVotesAndOfEdges) {
  MessagePool pool;
  const CodecSpec spec = parse_codec("k", "sign");
  const auto codec = make_codec(spec, damage_shape());
  MajorityVote vote(spec, damage_shape());
  const Message code = codec->encode(some_floats(1), 0, pool);
  EXPECT_THROW(vote.add(code.bytes().first(code.size() - 1)), DamagedCode);
  vote.add(code.bytes());
  std::vector<float> out(kLength), alone(kLength);
  vote.finish(out);
  codec->add_decoded(code.bytes(), 1, alone);
  EXPECT_EQ(out, alone);  // the damaged code was not counted

  PowerGossip one(2, damage_shape(), true), two(2, damage_shape(), false);
  one.encode(some_floats(1), 0, pool);
  const Message theirs = two.encode(some_floats(2), 0, pool);
  for (const std::size_t size : {0UL, 4UL, theirs.size() - 4})
    EXPECT_TRUE(refused([&](std::span<float> x) { one.move(theirs.bytes().first(size), 0.5F, x); }));
}

TEST(Damages, NameThePeer) {
  MessagePool pool;
  const auto codec = make_codec(parse_codec("k", "fp16"), {.length = 4});
  std::vector<float> into(4);
  const std::vector<float> three(3);
  try {
    add_decoded_from(NodeId{3}, *codec, pool.copy_of(std::span<const float>(three).first(1)), 1, into);
    FAIL();
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(), "node 3 sent a code that ends after 4 bytes");
  }
}

TEST(MajorityVote, TakesWhatMostHave) {
  MessagePool pool;
  const CodecSpec spec = parse_codec("k", "sign");
  const StreamShape shape{.length = 4};
  const auto codec = make_codec(spec, shape);
  MajorityVote vote(spec, shape);
  for (const std::vector<float>& x : {std::vector<float>{1, 1, -1, 1}, {-2, 2, -2, 2}, {3, 3, 3, 0}})
    vote.add(codec->encode(x, 0, pool).bytes());
  std::vector<float> out(4);
  vote.finish(out);
  const float scale = (1 + 2 + 2.25F) / 3;
  EXPECT_EQ(out, (std::vector<float>{scale, scale, -scale, scale}));
  for (const std::vector<float>& x : {std::vector<float>{1, 1, 0, 0}, {-1, 1, 0, 1}})
    vote.add(codec->encode(x, 0, pool).bytes());
  vote.finish(out);
  EXPECT_EQ(out, (std::vector<float>{0, 0.625F, 0, 0.625F}));
}

}  // namespace
}  // namespace veche
