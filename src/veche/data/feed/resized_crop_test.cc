// Random parts of images: their distribution, and that they are taken from the uncropped originals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "tests/support/temporary_folder.h"
#include "veche/data/feed/augment.h"
#include "veche/data/feed/sample_reader.h"
#include "veche/data/sets/source.h"

namespace veche {
namespace {

namespace fs = std::filesystem;
using veche::testing::TemporaryFolder;

constexpr int kWidth = 200, kHeight = 120, kSize = 16;

// Each tenth of the range must contain about a tenth of the values.
void expect_uniform(std::vector<double> values, double from, double to) {
  std::ranges::sort(values);
  EXPECT_GE(values.front(), from - 0.01);
  EXPECT_LE(values.back(), to + 0.01);
  const auto count = static_cast<double>(values.size());
  for (int tenth = 1; tenth < 10; ++tenth) {
    const double limit = from + (to - from) * tenth / 10;
    const auto below = static_cast<double>(std::ranges::lower_bound(values, limit) - values.begin());
    EXPECT_NEAR(below / count, tenth / 10.0, 4 * 0.5 / std::sqrt(count)) << "below " << limit;
  }
}

TEST(ResizedCrop, AreasAndRatiosAreUniform) {
  // A large image, so that rounding does not matter, and small parts, so that all fit.
  RandomStream random(1, "parts");
  std::vector<double> areas, ratios, places;
  for (int i = 0; i < 4000; ++i) {
    const Box part = random_part(3000, 2000, 0.08, random);
    ASSERT_GE(part.x, 0);
    ASSERT_GE(part.y, 0);
    ASSERT_LE(part.x + part.width, 3000);
    ASSERT_LE(part.y + part.height, 2000);
    const double area = part.width / 3000.0 * part.height / 2000.0;
    if (area > 0.5) continue;  // some larger parts do not fit and are redrawn
    areas.push_back(area);
    ratios.push_back(std::log(static_cast<double>(part.width) / part.height));
    places.push_back(static_cast<double>(part.x) / (3000 - part.width));
  }
  ASSERT_GT(areas.size(), 1500u);
  expect_uniform(areas, 0.08, 0.5);
  expect_uniform(ratios, -std::log(4.0 / 3), std::log(4.0 / 3));
  expect_uniform(places, 0, 1);
}

TEST(ResizedCrop, WhereNothingFitsTheMiddleIsTaken) {
  RandomStream random(1, "parts");
  const Box wide = random_part(1000, 10, 1, random), high = random_part(10, 1000, 1, random);
  EXPECT_EQ(wide.width, 13);
  EXPECT_EQ(wide.height, 10);
  EXPECT_EQ(wide.x, (1000 - 13) / 2);
  EXPECT_EQ(high.height, 13);
  EXPECT_EQ(high.y, (1000 - 13) / 2);
}

// Red grows from left to right and green from top to bottom: a pixel encodes its original position.
DataSource slopes(const TemporaryFolder& folder) {
  Image image{.width = kWidth, .height = kHeight, .channels = 3, .pixels = {}};
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x)
      for (const int value : {255 * x / (kWidth - 1), 255 * y / (kHeight - 1), 128})
        image.pixels.push_back(static_cast<std::uint8_t>(value));
  for (const char* part : {"train", "test"})
    for (const auto& [name, bytes] :
         {std::pair("jpeg", encode_jpeg(image, 100)), {"png", encode_png(image)}}) {
      const fs::path file = folder.path() / part / name / (std::string("1.") + name);
      fs::create_directories(file.parent_path());
      std::ofstream(file, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
  DataSettings settings;
  settings.path = {folder.path().string()};
  settings.size = kSize;
  return open_data(settings, 1);
}

struct Seen {
  double left, right, top, bottom;  // fractions of the original: 0 .. 1
  bool flipped;
};

// Extrapolated from the centres of the outermost pixels.
Seen seen(std::span<const float> image, const Normalization& normal) {
  const auto value = [&](std::size_t x, std::size_t y, std::size_t c) {
    return image[(y * kSize + x) * 3 + c] * normal.deviation[c] + normal.mean[c];
  };
  const auto edges = [](double first, double last) {
    const double half = (last - first) / (kSize - 1) / 2;
    return std::pair(first - half, last + half);
  };
  auto [left, right] = edges(value(0, 7, 0), value(kSize - 1, 7, 0));
  const auto [top, bottom] = edges(value(7, 0, 1), value(7, kSize - 1, 1));
  const bool flipped = left > right;
  if (flipped) std::swap(left, right);
  return {left, right, top, bottom, flipped};
}

class Originals : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Originals, PartsAreOfTheImageAsItWas) {
  const TemporaryFolder folder;
  const DataSource source = slopes(folder);
  const auto& set = dynamic_cast<const PixelSet&>(*source.train);
  SampleReader reader(set, {.resized_crop = 0.08, .flip = true});
  std::vector<float> image(set.shape().size());
  std::vector<double> areas, ratios;
  double leftmost = 1, rightmost = 0;
  int flipped = 0;
  constexpr int kTimes = 300;
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    reader.read(set, GetParam(), {1, "augment", i, 0}, image);
    const Seen part = seen(image, set.normalization());
    leftmost = std::min(leftmost, part.left);
    rightmost = std::max(rightmost, part.right);
    flipped += part.flipped;
    const double width = part.right - part.left, height = part.bottom - part.top;
    if (width * height > 0.5) continue;
    areas.push_back(width * height);
    ratios.push_back(std::log(width * kWidth / (height * kHeight)));
  }
  // A central square would omit a fifth on either side.
  EXPECT_LT(leftmost, 0.02);
  EXPECT_GT(rightmost, 0.98);
  EXPECT_NEAR(flipped, kTimes / 2.0, 50);
  // Colours have 256 steps, and a JPEG decoded at reduced size has whole pixels of that size.
  EXPECT_GT(*std::ranges::min_element(areas), 0.07);
  EXPECT_NEAR(std::accumulate(areas.begin(), areas.end(), 0.0) / static_cast<double>(areas.size()), 0.29,
              0.02);
  EXPECT_LT(*std::ranges::max_element(ratios), std::log(4.0 / 3) + 0.08);
  EXPECT_GT(*std::ranges::min_element(ratios), -std::log(4.0 / 3) - 0.08);
  EXPECT_GT(*std::ranges::max_element(ratios), std::log(4.0 / 3) - 0.08);
  EXPECT_LT(*std::ranges::min_element(ratios), -std::log(4.0 / 3) + 0.08);
}

INSTANTIATE_TEST_SUITE_P(JpegAndPng, Originals, ::testing::Values(0, 1));

TEST(ResizedCrop, DependsOnItsChancesAlone) {
  const TemporaryFolder folder;
  const DataSource source = slopes(folder);
  SampleReader one(*source.train, {.resized_crop = 0.25}), other(*source.train, {.resized_crop = 0.25});
  std::vector<float> first(source.train->shape().size()), second(first.size());
  one.read(*source.train, 1, {1, "augment", 3, 1}, first);
  one.read(*source.train, 0, {1, "augment", 3, 0}, first);
  other.read(*source.train, 0, {1, "augment", 3, 0}, second);
  EXPECT_EQ(first, second);
  one.read(*source.train, 0, {1, "augment", 4, 0}, first);
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace veche
