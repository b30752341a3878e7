#include "veche/data/formats/image/image.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "veche/data/sets/damage.h"

namespace veche {
namespace {

// Smooth, so that JPEG changes little.
Image gradient(int width, int height, int channels) {
  Image image{.width = width, .height = height, .channels = channels, .pixels = {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        image.pixels.push_back(static_cast<std::uint8_t>(40 + 100 * x / width + 60 * y / height + 20 * c));
  return image;
}

int largest_difference(const Image& a, const Image& b) {
  int largest = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i)
    largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  return largest;
}

std::string damage(const std::vector<std::uint8_t>& bytes) {
  try {
    Image image;
    decode_image(bytes, 3, 0, image);
  } catch (const Damaged& error) {
    return error.what();
  }
  return "none";
}

TEST(Image, PngComesBackAsItWas) {
  for (const int channels : {1, 3}) {
    const Image image = gradient(7, 5, channels);
    Image back;
    decode_image(encode_png(image), channels, 0, back);
    EXPECT_EQ(back.width, 7);
    EXPECT_EQ(back.height, 5);
    EXPECT_EQ(back.pixels, image.pixels);
    EXPECT_EQ(look_at_image(encode_png(image)).channels, channels);
  }
}

TEST(Image, JpegComesBackNearly) {
  for (const int channels : {1, 3}) {
    const Image image = gradient(33, 20, channels);
    const auto bytes = encode_jpeg(image, 98);
    Image back;
    decode_image(bytes, channels, 0, back);
    ASSERT_EQ(back.pixels.size(), image.pixels.size());
    EXPECT_LE(largest_difference(image, back), 6);
    EXPECT_EQ(look_at_image(bytes).width, 33);
    EXPECT_EQ(look_at_image(bytes).height, 20);
    EXPECT_EQ(look_at_image(bytes).channels, channels);
  }
}

TEST(Image, GreyBecomesThreeEqualChannels) {
  const Image grey = gradient(4, 4, 1);
  for (const auto& bytes : {encode_png(grey), encode_jpeg(grey, 100)}) {
    Image colour;
    decode_image(bytes, 3, 0, colour);
    ASSERT_EQ(colour.pixels.size(), 48u);
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(colour.pixels[3 * i], colour.pixels[3 * i + 1]);
      EXPECT_EQ(colour.pixels[3 * i], colour.pixels[3 * i + 2]);
    }
  }
}

TEST(Image, EveryTruncationIsNamed) {
  // After all pixels come the end marker of JPEG, two bytes, or the last chunk of PNG, twelve.
  for (const auto& [bytes, end] : {std::pair(encode_jpeg(gradient(40, 24, 3), 90), std::size_t{2}),
                                   std::pair(encode_png(gradient(40, 24, 3)), std::size_t{12})}) {
    ASSERT_EQ(damage(bytes), "none");
    for (std::size_t length = 0; length + end < bytes.size(); ++length) {
      const std::string why = damage({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)});
      EXPECT_NE(why, "none") << length << " of " << bytes.size();
    }
  }
}

TEST(Image, OtherFilesAreNamed) {
  EXPECT_EQ(damage({}), "is empty");
  EXPECT_EQ(damage({'a', 'b', 'c', 'd', 'e'}), "is neither JPEG nor PNG: it begins with 61 62 63 64");
  const auto named = [](std::string_view name, std::string_view bytes) {
    const std::string why = damage({bytes.begin(), bytes.end()});
    EXPECT_TRUE(why.starts_with(fmt::format("is a {} picture, a format that is not read: convert", name)))
        << why;
  };
  named("GIF", "GIF89a");
  named("BMP", "BM......");
  named("WebP", "RIFF....WEBPVP8 ");
  named("TIFF", {"II*\0....", 8});
  named("TIFF", {"MM\0*....", 8});
  named("AVIF", {"\0\0\0 ftypavif", 12});
  EXPECT_EQ(unread_format_of_name("a/b.TIFF"), "TIFF");
  EXPECT_EQ(unread_format_of_name("a/b.tif"), "TIFF");
  for (const char* other : {"a.png", "webp", "a.webp/b", "a.", "a.if", ""})
    EXPECT_EQ(unread_format_of_name(other), "") << other;
}

TEST(Image, AHeaderMayPromiseAnything) {
  auto png = encode_png(gradient(4, 4, 3));
  for (int i = 16; i < 24; ++i) png[static_cast<std::size_t>(i)] = 0x7f;  // width and height
  EXPECT_NE(damage(png), "none");
  auto jpeg = encode_jpeg(gradient(8, 8, 3), 90);
  for (std::size_t i = 0; i + 8 < jpeg.size(); ++i)
    if (jpeg[i] == 0xff && jpeg[i + 1] == 0xc0)  // the frame: 32,639 x 32,639
      for (std::size_t k = 5; k < 9; ++k) jpeg[i + k] = 0x7f;
  EXPECT_NE(damage(jpeg).find("too large"), std::string::npos) << damage(jpeg);
}

// Grey and progressive, all blocks zero: a scan of the DC coefficients, then scans of the rest.
std::vector<std::uint8_t> progressive(int width, int height, int scans) {
  const auto high = [](int size) { return static_cast<std::uint8_t>(size >> 8); };
  const auto low = [](int size) { return static_cast<std::uint8_t>(size); };
  std::vector<std::uint8_t> bytes{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0};
  const auto add = [&](std::initializer_list<std::uint8_t> more) { bytes.insert(bytes.end(), more); };
  bytes.insert(bytes.end(), 64, 1);
  add({0xff, 0xc2, 0, 11, 8, high(height), low(height), high(width), low(width), 1, 1, 0x11, 0});
  const std::pair<std::uint8_t, std::uint8_t> tables[] = {{0x00, 0x00}, {0x10, 0xe0}};  // its only symbol
  for (const auto& [table, symbol] : tables) {
    add({0xff, 0xc4, 0, 20, table, 1});
    bytes.insert(bytes.end(), 15, 0);
    add({symbol});
  }
  add({0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0});
  bytes.insert(bytes.end(), static_cast<std::size_t>(width / 8 * (height / 8) / 8), 0);
  for (int i = 1; i < scans; ++i) add({0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0, 0, 1});
  add({0xff, 0xd9});
  return bytes;
}

TEST(Image, TheWorkOfAJpegIsLimitedBeforeItIsDone) {
  EXPECT_EQ(damage(progressive(64, 64, 2)), "none");
  const std::string many = damage(progressive(4096, 4096, 300'000));
  EXPECT_NE(many.find("300000 scans of 4096x4096 pixels"), std::string::npos) << many;
  const std::string large = damage(progressive(10'000, 10'000, 40));
  EXPECT_NE(large.find("40 scans"), std::string::npos) << large;
  // A few bytes that promise a hundred million pixels: no memory is allocated for them.
  auto empty = progressive(64, 64, 1);
  for (std::size_t i = 0; i + 8 < empty.size(); ++i)
    if (empty[i] == 0xff && empty[i + 1] == 0xc2) empty[i + 5] = empty[i + 7] = 40;
  const std::string short_of = damage(empty);
  EXPECT_NE(short_of.find("cannot hold 10304x10304 pixels"), std::string::npos) << short_of;
}

TEST(Image, ADamagedFileDoesNotSpoilTheNext) {
  const auto good = encode_jpeg(gradient(40, 24, 3), 90);
  Image expected, image;
  decode_image(good, 3, 0, expected);
  for (std::size_t length = 3; length < good.size(); length += 7) {
    (void)damage({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)});
    decode_image(good, 3, 0, image);
    ASSERT_EQ(image.pixels, expected.pixels) << length;
  }
}

TEST(Image, ResizingAConstantKeepsItAndAGradientKeepsItsMiddle) {
  Image flat{.width = 50, .height = 30, .channels = 3, .pixels = std::vector<std::uint8_t>(50 * 30 * 3, 77)};
  std::vector<std::uint8_t> out(16 * 16 * 3);
  resize_and_crop(flat, 16, out);
  EXPECT_EQ(out, std::vector<std::uint8_t>(out.size(), 77));

  const Image wide = gradient(200, 100, 1);
  std::vector<std::uint8_t> square(50 * 50);
  resize_and_crop(wide, 50, square);
  // The central half of the width, from 40 + 25 to 40 + 75, and the whole height, from 0 to 60.
  EXPECT_NEAR(square[0], 40 + 25, 2);
  EXPECT_NEAR(square[49], 40 + 75, 2);
  EXPECT_NEAR(square[50 * 49], 40 + 25 + 60, 2);

  Image shorter;
  resize_shorter_side(wide, 25, shorter);
  EXPECT_EQ(shorter.width, 50);
  EXPECT_EQ(shorter.height, 25);
}

TEST(Image, JpegIsDecodedSmallerWhenThatIsEnough) {
  const auto bytes = encode_jpeg(gradient(400, 320, 3), 90);
  Image image;
  decode_image(bytes, 3, 64, image);
  EXPECT_LT(image.width, 200);
  EXPECT_GE(image.height, 64);
  EXPECT_NEAR(image.pixels[0], 40, 4);
}

}  // namespace
}  // namespace veche
