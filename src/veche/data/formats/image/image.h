#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace veche {

// Rows of interleaved pixels with 1 channel (grey) or 3 (red, green, blue).
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels;
};

struct ImageFacts {
  int width = 0;
  int height = 0;
  int channels = 0;
};

// A rectangle of an image, in pixels.
struct Box {
  int x = 0, y = 0, width = 0, height = 0;
};

// JPEG and PNG, distinguished by their first bytes, not by name. All functions throw Damaged with a
// clause without a subject ("ends early"); the caller adds the name. Any thread; each thread keeps
// its decoder.

// The name of an unsupported image format, such as "WebP", from a file's first bytes or name; empty
// if none is recognised. Only JPEG and PNG are supported: every further decoder is another attack
// surface for hostile files, and a set is converted only once.
std::string_view unread_format(std::span<const std::uint8_t> bytes);
std::string_view unread_format_of_name(std::string_view path);
// Advice for such images, as the end of a sentence.
inline constexpr std::string_view kConvert = "convert to JPEG or PNG, as `mogrify -format png FILE...` does";

// Reads the header only, not the pixels.
ImageFacts look_at_image(std::span<const std::uint8_t> bytes);

// Decodes to `channels` channels: grey becomes three equal channels, colour becomes grey. A JPEG
// may be decoded at a reduced size that its decoder supports, with no side shorter than
// `least_side`; 0: full size. Overwrites `out` and reuses its memory.
void decode_image(std::span<const std::uint8_t> bytes, int channels, int least_side, Image& out);

// Resizes so that the shorter side is `size` pixels, keeping the aspect ratio.
void resize_shorter_side(const Image& image, int size, Image& out);
// The same, then crops the central square: size x size x channels bytes.
void resize_and_crop(const Image& image, int size, std::span<std::uint8_t> out);

// Resizes a part of an image to width x height x channels bytes. Pixels outside the part have no
// influence.
void resize_part(const Image& image, const Box& part, int width, int height, std::span<std::uint8_t> out);

std::vector<std::uint8_t> encode_jpeg(const Image& image, int quality);
std::vector<std::uint8_t> encode_png(const Image& image);

}  // namespace veche
