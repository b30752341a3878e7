#include "veche/data/feed/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "veche/errors.h"

namespace veche {
namespace {

const Normalization kHalves{.mean = {0.5}, .deviation = {0.25}};

std::vector<std::uint8_t> numbered(const Shape& shape) {
  std::vector<std::uint8_t> pixels(shape.size());
  std::iota(pixels.begin(), pixels.end(), std::uint8_t{1});
  return pixels;
}

std::vector<float> changed(const Augmentation& changes, const Shape& shape,
                           std::span<const std::uint8_t> pixels, std::uint64_t sample) {
  std::vector<float> out(shape.size(), -99.0F);
  Augmenter(changes, shape).apply(pixels, {shape.channels, kHalves}, {1, "augment", 0, sample}, out);
  return out;
}

// The simplest implementation: pad with black, crop, flip, normalise.
std::vector<float> expected(const Shape& shape, std::span<const std::uint8_t> pixels, int dx, int dy,
                            bool flip) {
  std::vector<float> out;
  const PixelTables tables(shape.channels, kHalves);
  for (int y = 0; y < shape.height; ++y)
    for (int x = 0; x < shape.width; ++x)
      for (int c = 0; c < shape.channels; ++c) {
        const int from_x = (flip ? shape.width - 1 - x : x) + dx, from_y = y + dy;
        const bool inside = from_x >= 0 && from_x < shape.width && from_y >= 0 && from_y < shape.height;
        const auto at = static_cast<std::size_t>((from_y * shape.width + from_x) * shape.channels + c);
        out.push_back(tables.of_channel(static_cast<std::size_t>(c))[inside ? pixels[at] : 0]);
      }
  return out;
}

TEST(Augment, CropAndFlipGiveEveryPlaceAboutEquallyOftenAndNothingElse) {
  for (const int channels : {1, 2, 3}) {
    const Shape shape{channels, 5, 7};
    const std::vector<std::uint8_t> pixels = numbered(shape);
    std::map<std::vector<float>, int> seen;
    for (const bool flip : {false, true})
      for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx) seen[expected(shape, pixels, dx, dy, flip)] = 0;
    ASSERT_EQ(seen.size(), 50u);
    constexpr int kDraws = 10000;
    for (std::uint64_t sample = 0; sample < kDraws; ++sample) {
      const auto found = seen.find(changed({.crop = 2, .flip = true}, shape, pixels, sample));
      ASSERT_NE(found, seen.end()) << "sample " << sample;
      ++found->second;
    }
    double chi_squared = 0;
    for (const auto& [image, times] : seen) chi_squared += (times - 200.0) * (times - 200.0) / 200.0;
    EXPECT_LT(chi_squared, 94);  // 49 degrees of freedom: exceeded by one seed in 10,000
  }
}

TEST(Augment, CutoutSetsASquareToTheMean) {
  const Shape shape{3, 9, 9};
  const std::vector<std::uint8_t> white(shape.size(), 255);
  std::map<int, int> sizes;
  for (std::uint64_t sample = 0; sample < 500; ++sample) {
    const auto image = changed({.cutout = 4}, shape, white, sample);
    std::array<int, 9> rows{}, columns{};
    int count = 0;
    for (int i = 0; i < 81; ++i) {
      const auto at = static_cast<std::size_t>(3 * i);
      const bool cut = image[at] == 0;
      EXPECT_EQ(image[at + 1] == 0, cut);
      EXPECT_EQ(image[at], cut ? 0.0F : 2.0F);
      count += cut;
      rows[static_cast<std::size_t>(i / 9)] += cut;
      columns[static_cast<std::size_t>(i % 9)] += cut;
    }
    const auto high = 9 - std::ranges::count(rows, 0), wide = 9 - std::ranges::count(columns, 0);
    EXPECT_EQ(count, high * wide);  // no holes
    EXPECT_LE(std::max(high, wide), 4);
    EXPECT_GE(std::min(high, wide), 2);  // its centre is in the image
    ++sizes[count];
  }
  EXPECT_GT(sizes[16], 100);  // uncut at 36 of 81 positions
  EXPECT_GT(sizes.size(), 3u);
}

TEST(Augment, ResizedCropStretchesAPart) {
  // A linear slope stays linear; its steepness shrinks by the fraction taken.
  const Shape shape{1, 32, 32};
  std::vector<std::uint8_t> slope(shape.size());
  for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = static_cast<std::uint8_t>(4 * (i % 32));
  const float step = 4.0F / 255 / 0.25F;
  double area = 0;
  int mirrored = 0;
  for (std::uint64_t sample = 0; sample < 400; ++sample) {
    const auto image = changed({.resized_crop = 0.25, .flip = true}, shape, slope, sample);
    const float inner = image[16] - image[15];  // away from the edges, where values repeat
    mirrored += inner < 0;
    for (std::size_t x = 8; x < 24; ++x) EXPECT_NEAR(image[x] - image[x - 1], inner, 1e-4);
    const double part = std::abs(inner) / step;
    EXPECT_GT(part, 0.43);  // the root of 0.25 x 3/4, less rounding
    EXPECT_LE(part, 1.001);
    area += part * part / 400;
  }
  EXPECT_NEAR(area, 0.62, 0.06);  // uniform from 0.25 to 1
  EXPECT_NEAR(mirrored, 200, 50);
}

TEST(Augment, InterpolatesAsIsCustomary) {
  // Half of a row of four stretched to four, as PyTorch's interpolate with align_corners=False: 0
  // 2.5 7.5 10.
  const Shape shape{1, 1, 4};
  const std::vector<std::uint8_t> pixels{0, 10, 20, 30};
  bool seen = false;
  for (std::uint64_t sample = 0; sample < 300 && !seen; ++sample) {
    auto image = changed({.resized_crop = 0.3}, shape, pixels, sample);
    for (float& value : image) value = (value * 0.25F + 0.5F) * 255;
    if (std::abs(image[0]) > 1e-3 || std::abs(image[3] - 10) > 1e-3) continue;
    seen = true;
    EXPECT_NEAR(image[1], 2.5, 1e-3);
    EXPECT_NEAR(image[2], 7.5, 1e-3);
  }
  EXPECT_TRUE(seen);
}

std::string refusal(std::string_view spec) {
  try {
    read_augmentation(spec, {3, 32, 32});
  } catch (const RequestError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Augment, ReadsWhatItIsTold) {
  const Shape shape{3, 32, 32};
  EXPECT_TRUE(read_augmentation("none", shape).none());
  EXPECT_EQ(read_augmentation("crop:4+flip", shape), (Augmentation{.crop = 4, .flip = true}));
  EXPECT_EQ(read_augmentation("flip+cutout:16+resized-crop", shape),
            (Augmentation{.resized_crop = 0.08, .flip = true, .cutout = 16}));
  EXPECT_EQ(read_augmentation("resized-crop:0.5", shape), (Augmentation{.resized_crop = 0.5}));
  EXPECT_EQ(refusal("crop:4+flop"), "data.augment: 'flop' is unknown; did you mean 'flip'?");
  EXPECT_EQ(refusal("crop"), "data.augment: 'crop' is unknown; did you mean 'crop:4'?");
  EXPECT_EQ(refusal("crop:32"), "data.augment: 'crop:32' needs a number from 1 to 31 behind the colon");
  EXPECT_EQ(refusal("crop:x"), "data.augment: 'crop:x' needs a number from 1 to 31 behind the colon");
  EXPECT_EQ(refusal("flip+flip"), "data.augment: 'flip' is given twice");
  EXPECT_EQ(refusal("crop:3+flip+crop:4"), "data.augment: 'crop:4' is given twice");
  EXPECT_EQ(refusal("crop:2+resized-crop"),
            "data.augment: crop and resized-crop exclude each other; choose one");
  EXPECT_NE(refusal(""), "nothing was refused");
  EXPECT_NE(refusal("flip+"), "nothing was refused");
}

}  // namespace
}  // namespace veche
