#include "veche/runtime/inference/model_input.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "veche/data/sets/damage.h"
#include "veche/errors.h"

namespace veche {
namespace {

ModelInput seen(Shape shape) { return {shape, 2, {"cat", "</script>"}, Normalization{{0.5}, {0.25}}}; }

Image grey(int width, int height, std::uint8_t level) {
  return {width, height, 1, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height), level)};
}

TEST(ModelInput, ComesBackFromJson) {
  const ModelInput back = model_input(nlohmann::json::parse(to_json(seen({3, 4, 5})).dump()));
  EXPECT_EQ(back.shape, (Shape{3, 4, 5}));
  EXPECT_EQ(back.classes, 2);
  EXPECT_EQ(back.name_of(1), "</script>");
  EXPECT_EQ(back.name_of(7), "7");
  EXPECT_EQ(back.normalization->deviation, std::vector<double>{0.25});
}

TEST(ModelInput, RefusesWhatDoesNotFit) {
  auto json = to_json(seen({3, 4, 5}));
  json["shape"] = {3, -4, 5};
  EXPECT_THROW(model_input(json), RequestError);
  json = to_json(seen({3, 4, 5}));
  json["classes"] = 3;
  EXPECT_THROW(model_input(json), RequestError);
  json = to_json(seen({3, 4, 5}));
  json["normalization"]["mean"] = {1, 2};
  EXPECT_THROW(model_input(json), RequestError);
  json.erase("shape");
  EXPECT_THROW(model_input(json), nlohmann::json::exception);
}

TEST(PictureReader, NormalisesAndKeepsTheMiddle) {
  const PictureReader reader(seen({1, 2, 2}));
  for (const auto& size : {std::pair(2, 2), std::pair(6, 2), std::pair(2, 8), std::pair(50, 40)}) {
    const auto sample = reader.read(encode_png(grey(size.first, size.second, 255)));
    ASSERT_EQ(sample.size(), 4U);
    for (const float value : sample) EXPECT_FLOAT_EQ(value, (1 - 0.5) / 0.25);
  }
  // Two columns of black beside two of white: the middle has one of each.
  Image halves = grey(4, 2, 0);
  for (int y = 0; y < 2; ++y)
    for (int x = 2; x < 4; ++x) halves.pixels[static_cast<std::size_t>(4 * y + x)] = 255;
  const auto sample = reader.read(encode_png(halves));
  EXPECT_FLOAT_EQ(sample[0], -2);
  EXPECT_FLOAT_EQ(sample[1], 2);
}

TEST(PictureReader, ShapesNeedNotBeSquare) {
  const PictureReader reader(seen({3, 2, 4}));
  EXPECT_EQ(reader.read(encode_png(grey(9, 9, 0))).size(), 24U);
  EXPECT_EQ(reader.read(encode_jpeg(grey(40, 9, 0), 90)).size(), 24U);
}

TEST(PictureReader, SaysWhatIsWrongWithAPicture) {
  const PictureReader reader(seen({1, 2, 2}));
  auto cut = encode_png(grey(30, 30, 9));
  cut.resize(cut.size() / 2);
  EXPECT_THROW(reader.read(cut), Damaged);
  EXPECT_THROW(reader.read({}), Damaged);
  EXPECT_THROW(reader.read(encode_png(grey(20'000, 1, 9))), Damaged);  // too narrow
  // A header that promises 100,000 x 100,000 pixels, with a valid checksum; no memory is reserved
  // for them.
  auto huge = encode_png(grey(8, 8, 9));
  const std::uint8_t side[] = {0, 1, 0x86, 0xa0};
  std::copy(std::begin(side), std::end(side), huge.begin() + 16);
  std::copy(std::begin(side), std::end(side), huge.begin() + 20);
  EXPECT_THROW(reader.read(huge), Damaged);
}

TEST(PictureReader, NeedsImages) {
  ModelInput numbers = seen({1, 2, 2});
  numbers.normalization.reset();
  EXPECT_THROW(PictureReader{numbers}, RequestError);
}

}  // namespace
}  // namespace veche
