#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace veche {

// Rows of pixels with their channels together: 1 (grey) or 3 (red, green, blue).
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

// A rectangle of an image, in its pixels.
struct Box {
  int x = 0, y = 0, width = 0, height = 0;
};

// JPEG and PNG, told apart by their first bytes, whatever the file is called. All throw Damaged with a
// sentence part that has no subject ("ends early"): the caller knows the name. Any thread; each keeps its
// decoder.

// The name of a picture format that is known and not read, such as "WebP", from a file's first bytes or from
// its name. Empty: no such picture. JPEG and PNG alone are read: each decoder more is one more that a hostile
// file can attack, and a set is converted once.
std::string_view unread_format(std::span<const std::uint8_t> bytes);
std::string_view unread_format_of_name(std::string_view path);
// What to do about such pictures, as the end of a sentence.
inline constexpr std::string_view kConvert = "convert to JPEG or PNG, as `mogrify -format png FILE...` does";

// What the header says; the pixels are not looked at.
ImageFacts look_at_image(std::span<const std::uint8_t> bytes);

// `channels`: what is wanted; grey becomes three equal channels, colour becomes grey. A JPEG larger than
// needed may come out smaller, by a factor its decoder does well, with no side shorter than `least_side`;
// 0: as large as it is. What `out` held is overwritten and its memory used again.
void decode_image(std::span<const std::uint8_t> bytes, int channels, int least_side, Image& out);

// The shorter side becomes `size` pixels; the longer follows.
void resize_shorter_side(const Image& image, int size, Image& out);
// The same, and of that the square in the middle: size x size x channels bytes.
void resize_and_crop(const Image& image, int size, std::span<std::uint8_t> out);

// A part of an image, stretched to width x height x channels bytes; nothing outside it plays a role.
void resize_part(const Image& image, const Box& part, int width, int height, std::span<std::uint8_t> out);

std::vector<std::uint8_t> encode_jpeg(const Image& image, int quality);
std::vector<std::uint8_t> encode_png(const Image& image);

}  // namespace veche
