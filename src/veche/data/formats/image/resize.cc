#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
// One assertion bounds the sum of weights before normalisation; narrow images violate it.
#define STBIR_ASSERT(condition)
#include <stb/stb_image_resize.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "veche/data/formats/image/image.h"

namespace veche {
namespace {

struct Target {
  int width = 0, height = 0;  // after resizing the shorter side to `size`
};

Target target(const Image& image, int size) {
  const auto longer = [&](int other, int shorter) {
    return static_cast<int>(static_cast<std::int64_t>(other) * size / shorter);
  };
  if (image.width <= image.height) return {size, longer(image.height, image.width)};
  return {longer(image.width, image.height), size};
}

// Resizes `part` of the image to `to` and writes `window` of the result. The filter is a triangle
// as wide as an output pixel, known elsewhere as bilinear with antialiasing.
void resize(const Image& image, const Box& part, Target to, const Box& window, std::uint8_t* out) {
  const int row = image.width * image.channels;
  const std::uint8_t* first =
      image.pixels.data() + static_cast<std::ptrdiff_t>(part.y) * row + part.x * image.channels;
  const int done = stbir_resize_subpixel(
      first, part.width, part.height, row, out, window.width, window.height, 0, STBIR_TYPE_UINT8,
      image.channels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE,
      STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr,
      static_cast<float>(to.width) / static_cast<float>(part.width),
      static_cast<float>(to.height) / static_cast<float>(part.height), static_cast<float>(window.x),
      static_cast<float>(window.y));
  if (done == 0) throw std::runtime_error("an image could not be resized");
}

Box all_of(const Image& image) { return {0, 0, image.width, image.height}; }

void check_room(std::span<std::uint8_t> out, int width, int height, int channels) {
  if (out.size() !=
      static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * static_cast<std::size_t>(channels))
    throw std::invalid_argument("the room for a resized image is of another size");
}

}  // namespace

void resize_shorter_side(const Image& image, int size, Image& out) {
  const Target to = target(image, size);
  out.width = to.width;
  out.height = to.height;
  out.channels = image.channels;
  out.pixels.resize(static_cast<std::size_t>(to.width) * static_cast<std::size_t>(to.height) *
                    static_cast<std::size_t>(image.channels));
  resize(image, all_of(image), to, {0, 0, to.width, to.height}, out.pixels.data());
}

void resize_and_crop(const Image& image, int size, std::span<std::uint8_t> out) {
  check_room(out, size, size, image.channels);
  if (image.width == size && image.height == size) {
    std::copy(image.pixels.begin(), image.pixels.end(), out.begin());
    return;
  }
  const Target to = target(image, size);
  const auto middle = [&](int length) { return static_cast<int>(std::lround((length - size) / 2.0)); };
  resize(image, all_of(image), to, {middle(to.width), middle(to.height), size, size}, out.data());
}

void resize_part(const Image& image, const Box& part, int width, int height, std::span<std::uint8_t> out) {
  check_room(out, width, height, image.channels);
  if (part.x < 0 || part.y < 0 || part.width < 1 || part.height < 1 || part.x + part.width > image.width ||
      part.y + part.height > image.height)
    throw std::invalid_argument("that is not a part of the image");
  resize(image, part, {width, height}, {0, 0, width, height}, out.data());
}

}  // namespace veche
