#include "veche/model/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "veche/errors.h"

namespace veche {
namespace {

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// A file built from the format's specification, without the writer.
std::string file(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

template <class T>
std::string raw(std::initializer_list<T> numbers) {
  return {reinterpret_cast<const char*>(numbers.begin()), numbers.size() * sizeof(T)};
}

std::string joined(SafetensorsWriter& writer) {
  std::string text;
  for (const auto part : writer.parts()) text.append(reinterpret_cast<const char*>(part.data()), part.size());
  return text;
}

TEST(Safetensors, ReadsWhatTheFormatSays) {
  const std::string text =
      file(R"({"b":{"dtype":"I64","shape":[],"data_offsets":[8,16]},"__metadata__":{"who":"me"},)"
           R"("a.weight":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}   )",
           raw({1.5F, -2.0F}) + raw({std::int64_t{7}}));
  const Safetensors content = parse_safetensors(bytes(text), "f");
  ASSERT_EQ(content.tensors.size(), 2U);
  EXPECT_EQ(content.metadata.at("who"), "me");
  EXPECT_EQ(content.tensors[0].name, "a.weight");
  EXPECT_EQ(content.tensors[0].shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(floats_of(content.tensors[0], "f"), (std::vector<float>{1.5F, -2.0F}));
  EXPECT_EQ(content.tensors[1].bytes.size(), 8U);
  EXPECT_THROW(floats_of(content.tensors[1], "f"), RequestError);
}

TEST(Safetensors, ReadsNumbersOfOtherWidths) {
  // 1, -2, the largest half, the smallest positive half, infinity, and NaN.
  const std::string halves = raw<std::uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00, 0x7e00, 0x8000});
  const std::string brains = raw<std::uint16_t>({0x3f80, 0xc049});
  const std::string text = file(R"({"h":{"dtype":"F16","shape":[7],"data_offsets":[0,14]},)"
                                R"("n":{"dtype":"BF16","shape":[2],"data_offsets":[14,18]},)"
                                R"("w":{"dtype":"F64","shape":[1],"data_offsets":[18,26]}})",
                                halves + brains + raw({0.1}));
  const Safetensors content = parse_safetensors(bytes(text), "f");
  const std::vector<float> half = floats_of(content.tensors[0], "f");
  EXPECT_EQ(half[0], 1.0F);
  EXPECT_EQ(half[1], -2.0F);
  EXPECT_EQ(half[2], 65504.0F);
  EXPECT_EQ(half[3], 5.9604644775390625e-08F);
  EXPECT_EQ(half[4], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half[5]));
  EXPECT_TRUE(half[6] == 0 && std::signbit(half[6]));
  EXPECT_EQ(floats_of(content.tensors[1], "f"), (std::vector<float>{1.0F, -3.140625F}));
  EXPECT_EQ(floats_of(content.tensors[2], "f"), std::vector<float>{0.1F});
}

TEST(Safetensors, ReadsBackWhatItWrites) {
  SafetensorsWriter writer;
  writer.note("run", "a \"quoted\" name");
  writer.add("z", {2, 2}, {1, 2, 3, 4});
  writer.add("scalar", {}, {5});
  writer.add("nothing", {0, 3}, {});
  const std::string text = joined(writer);
  const Safetensors content = parse_safetensors(bytes(text), "f");
  EXPECT_EQ(content.metadata.at("run"), "a \"quoted\" name");
  ASSERT_EQ(content.tensors.size(), 3U);
  EXPECT_EQ(content.tensors[0].shape, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(floats_of(content.tensors[1], "f"), std::vector<float>{5});
  EXPECT_EQ(floats_of(content.tensors[2], "f"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ((content.tensors[0].bytes.data() - bytes(text).data()) % 8, 0) << "numbers usable in place";
  EXPECT_THROW(writer.add("z", {1}, {1}), std::invalid_argument);
  EXPECT_THROW(writer.add("y", {2}, {1}), std::invalid_argument);
}

struct Damage {
  std::string name;
  std::string content;
  std::string told;  // expected part of the message
};

std::string one(const std::string& about, const std::string& data = std::string(8, '\0')) {
  return file("{\"a\":" + about + "}", data);
}

std::vector<Damage> damages() {
  const std::string deep = std::string(20000, '[') + std::string(20000, ']');
  return {
      {"empty", "", "only 0 bytes"},
      {"short", "1234567", "only 7 bytes"},
      {"header_too_long", std::string("\x40\0\0\0\0\0\0\0{}", 10), "64 bytes, but 2 follow"},
      {"header_of_all_bits", std::string(8, '\xff') + "{}", "18446744073709551615 bytes, but 2 follow"},
      {"no_header", file("", ""), "does not begin with '{'"},
      {"list", file("[]", ""), "does not begin with '{'"},
      {"spaces_first", file(" {}", ""), "does not begin with '{'"},
      {"not_json", file("{\"a\":", ""), "not JSON"},
      {"two_values", file("{}{}", ""), "not JSON"},
      {"bad_utf8", file("{\"\xff\":{}}", ""), "not JSON"},
      {"deep", file("{\"a\":" + deep + "}", ""), "nested too deep"},
      {"twice",
       file(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
            R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
            "1234"),
       "names 'a' twice"},
      {"field_twice", one(R"({"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]})"),
       "names 'shape' twice"},
      {"number_for_tensor", one("7"), "not described by an object"},
      {"no_shape", one(R"({"dtype":"F32","data_offsets":[0,8]})"), "no shape"},
      {"negative", one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), "no shape"},
      {"fraction", one(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"), "no shape"},
      {"word", one(R"({"dtype":"F32","shape":["2"],"data_offsets":[0,8]})"), "no shape"},
      {"above_int64", one(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})"),
       "no shape"},
      {"no_offsets", one(R"({"dtype":"F32","shape":[2]})"), "data_offsets"},
      {"three_offsets", one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4,8]})"), "data_offsets"},
      {"backwards", one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), "lies at bytes 8 to 0 of 8"},
      {"outside", one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,12]})"), "lies at bytes 0 to 12 of 8"},
      {"wrong_length", one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"), "not what its shape"},
      {"overflow", one(R"({"dtype":"F32","shape":[4611686018427387904,4,2],"data_offsets":[0,8]})"),
       "not what its shape"},
      {"no_type", one(R"({"shape":[2],"data_offsets":[0,8]})"), "no dtype"},
      {"odd_type", one(R"({"dtype":"F33","shape":[2],"data_offsets":[0,8]})"), "unknown dtype 'F33'"},
      {"rest", one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"), "4 bytes at its end"},
      {"hole", one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})"), "does not begin where"},
      {"overlap",
       file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
            std::string(12, '\0')),
       "does not begin where"},
      {"metadata_list", file(R"({"__metadata__":[]})", ""), "__metadata__ is not an object"},
      {"metadata_number", file(R"({"__metadata__":{"a":1}})", ""), "not text under 'a'"},
      {"lines_in_a_name", file("{\"a\\nb\":7}", ""), "'a?b'"},
  };
}

class Damaged : public testing::TestWithParam<Damage> {};

TEST_P(Damaged, IsOneSentence) {
  // A copy of exactly this length, so that a sanitizer detects reads beyond the end.
  const std::vector<char> content(GetParam().content.begin(), GetParam().content.end());
  try {
    parse_safetensors(std::as_bytes(std::span(content)), "weights.safetensors");
    FAIL() << "nothing was said";
  } catch (const RequestError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("'weights.safetensors'"), std::string::npos) << text;
    EXPECT_NE(text.find(GetParam().told), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_LT(text.size(), 300U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Damaged, testing::ValuesIn(damages()),
                         [](const auto& info) { return info.param.name; });

// Truncated anywhere, or with any byte changed, a file is either parsed or refused; never a crash.
TEST(Safetensors, SurvivesAnySingleFault) {
  SafetensorsWriter writer;
  writer.note("k", "v");
  writer.add("a", {2, 2}, {1, 2, 3, 4});
  writer.add("b", {1}, {5});
  const std::string good = joined(writer);
  const auto try_it = [](const std::string& text) {
    const std::vector<char> content(text.begin(), text.end());
    try {
      for (const StoredTensor& tensor : parse_safetensors(std::as_bytes(std::span(content)), "f").tensors)
        floats_of(tensor, "f");
      return true;
    } catch (const RequestError&) {
      return false;
    }
  };
  EXPECT_TRUE(try_it(good));
  for (std::size_t cut = 0; cut < good.size(); ++cut) EXPECT_FALSE(try_it(good.substr(0, cut))) << cut;
  int refused = 0;
  for (std::size_t place = 0; place < good.size(); ++place)
    for (int value = 0; value < 256; ++value) {
      std::string bad = good;
      bad[place] = static_cast<char>(value);
      refused += try_it(bad) ? 0 : 1;
    }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace veche
