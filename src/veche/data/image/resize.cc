#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#include <stb/stb_image_resize.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "veche/data/image/image.h"

namespace veche {
namespace {

struct Target {
  int width = 0, height = 0;  // after the shorter side has become `size`
};

Target target(const Image& image, int size) {
  const auto longer = [&](int other, int shorter) {
    return static_cast<int>(static_cast<std::int64_t>(other) * size / shorter);
  };
  if (image.width <= image.height) return {size, longer(image.height, image.width)};
  return {longer(image.width, image.height), size};
}

struct Window {
  int left = 0, top = 0, width = 0, height = 0;  // of the resized image
};

// A triangle as wide as an output pixel: what "bilinear with antialiasing" means elsewhere.
void resize(const Image& image, Target to, Window window, std::uint8_t* out) {
  const int done = stbir_resize_subpixel(
      image.pixels.data(), image.width, image.height, 0, out, window.width, window.height, 0,
      STBIR_TYPE_UINT8, image.channels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_EDGE_CLAMP,
      STBIR_FILTER_TRIANGLE, STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr,
      static_cast<float>(to.width) / static_cast<float>(image.width),
      static_cast<float>(to.height) / static_cast<float>(image.height), static_cast<float>(window.left),
      static_cast<float>(window.top));
  if (done == 0) throw std::runtime_error("an image could not be resized");
}

}  // namespace

void resize_shorter_side(const Image& image, int size, Image& out) {
  const Target to = target(image, size);
  out.width = to.width;
  out.height = to.height;
  out.channels = image.channels;
  out.pixels.resize(static_cast<std::size_t>(to.width) * static_cast<std::size_t>(to.height) *
                    static_cast<std::size_t>(image.channels));
  resize(image, to, {0, 0, to.width, to.height}, out.pixels.data());
}

void resize_and_crop(const Image& image, int size, std::span<std::uint8_t> out) {
  const auto expected = static_cast<std::size_t>(size) * static_cast<std::size_t>(size) *
                        static_cast<std::size_t>(image.channels);
  if (out.size() != expected) throw std::invalid_argument("the room for a resized image is of another size");
  if (image.width == size && image.height == size) {
    std::copy(image.pixels.begin(), image.pixels.end(), out.begin());
    return;
  }
  const Target to = target(image, size);
  const auto middle = [&](int length) { return static_cast<int>(std::lround((length - size) / 2.0)); };
  resize(image, to, {middle(to.width), middle(to.height), size, size}, out.data());
}

}  // namespace veche
