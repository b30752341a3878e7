#include "veche/data/feed/augment.h"

#include <algorithm>
#include <cmath>

namespace veche {
namespace {

constexpr auto kLevels = static_cast<std::ptrdiff_t>(PixelTables::kLevels);

// Shifts an image by (dx, dy), fills with black, and normalises in the same pass. The number of
// channels is a compile-time constant where it matters (0: use `shape`), so that the inner loop is
// unrolled.
template <std::size_t kChannels, bool kFlip>
void move_image(const Shape& shape, int dx, int dy, const std::uint8_t* pixels, const float* tables,
                float* out) {
  const std::ptrdiff_t width = shape.width;
  const std::ptrdiff_t channels = kChannels != 0 ? static_cast<std::ptrdiff_t>(kChannels) : shape.channels;
  for (std::ptrdiff_t y = 0; y < shape.height; ++y, out += width * channels) {
    const bool exists = y + dy >= 0 && y + dy < shape.height;
    const std::uint8_t* row = pixels + (exists ? (y + dy) * width * channels : 0);
    // Pixels [from, to) of the shifted row have a source pixel.
    const std::ptrdiff_t from = exists ? std::max(0, -dx) : width;
    const std::ptrdiff_t to = exists ? width - std::max(0, dx) : width;
    const auto target = [&](std::ptrdiff_t x) { return out + (kFlip ? width - 1 - x : x) * channels; };
    const auto black = [&](std::ptrdiff_t x) {
      for (std::ptrdiff_t c = 0; c < channels; ++c) target(x)[c] = tables[c * kLevels];
    };
    for (std::ptrdiff_t x = 0; x < from; ++x) black(x);
    for (std::ptrdiff_t x = from; x < to; ++x) {
      const std::uint8_t* pixel = row + (x + dx) * channels;
      for (std::ptrdiff_t c = 0; c < channels; ++c) target(x)[c] = tables[c * kLevels + pixel[c]];
    }
    for (std::ptrdiff_t x = to; x < width; ++x) black(x);
  }
}

template <bool kFlip>
void move_image(const Shape& shape, int dx, int dy, const std::uint8_t* pixels, const float* tables,
                float* out) {
  switch (shape.channels) {
    case 1:
      return move_image<1, kFlip>(shape, dx, dy, pixels, tables, out);
    case 3:
      return move_image<3, kFlip>(shape, dx, dy, pixels, tables, out);
    default:
      return move_image<0, kFlip>(shape, dx, dy, pixels, tables, out);
  }
}

int below(RandomStream& random, int limit) {
  return static_cast<int>(random.below(static_cast<std::uint64_t>(limit)));
}

}  // namespace

Augmenter::Augmenter(const Augmentation& changes, const Shape& shape) : changes_(changes), shape_(shape) {
  if (changes.resized_crop > 0) columns_.resize(static_cast<std::size_t>(shape.width));
}

void Augmenter::apply(std::span<const std::uint8_t> pixels, const PixelTables& tables, RandomStream random,
                      std::span<float> out) {
  if (changes_.resized_crop > 0) {
    const Box box = random_part(shape_.width, shape_.height, changes_.resized_crop, random);
    stretch(box, changes_.flip && below(random, 2) == 1, pixels, tables, out);
  } else {
    const int span = 2 * changes_.crop + 1;
    const int dx = below(random, span) - changes_.crop;
    const int dy = below(random, span) - changes_.crop;
    move(dx, dy, changes_.flip && below(random, 2) == 1, pixels, tables, out);
  }
  if (changes_.cutout > 0) cut_out(random, out);
}

void Augmenter::apply_to_part(std::span<const std::uint8_t> pixels, const PixelTables& tables,
                              RandomStream random, std::span<float> out) const {
  move(0, 0, changes_.flip && below(random, 2) == 1, pixels, tables, out);
  if (changes_.cutout > 0) cut_out(random, out);
}

void Augmenter::move(int dx, int dy, bool flip, std::span<const std::uint8_t> pixels,
                     const PixelTables& tables, std::span<float> out) const {
  if (flip)
    move_image<true>(shape_, dx, dy, pixels.data(), tables.of_channel(0), out.data());
  else
    move_image<false>(shape_, dx, dy, pixels.data(), tables.of_channel(0), out.data());
}

Box random_part(int width, int height, double least, RandomStream& random) {
  constexpr double kMost = 4.0 / 3.0;  // aspect ratio
  const double limit = std::log(kMost), all = static_cast<double>(width) * height;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = all * std::lerp(least, 1.0, random.uniform());
    const double ratio = std::exp(std::lerp(-limit, limit, random.uniform()));
    const double w = std::round(std::sqrt(area * ratio)), h = std::round(std::sqrt(area / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const Box box{0, 0, static_cast<int>(w), static_cast<int>(h)};
    return {below(random, width - box.width + 1), below(random, height - box.height + 1), box.width,
            box.height};
  }
  const int w = std::min(width, static_cast<int>(std::lround(height * kMost)));
  const int h = std::min(height, static_cast<int>(std::lround(width * kMost)));
  return {(width - w) / 2, (height - h) / 2, w, h};
}

// Maps output `position` of `count` to the `length` pixels from `from` on: between two pixel
// centres, never outside the box.
Augmenter::Between Augmenter::between(int position, int from, int length, int count) const {
  const double place = (position + 0.5) * length / count - 0.5;
  const double inside = std::clamp(place, 0.0, length - 1.0);
  const int first = static_cast<int>(inside);
  const int second = std::min(first + 1, length - 1);
  return {static_cast<std::size_t>(from + first), static_cast<std::size_t>(from + second),
          static_cast<float>(inside - first)};
}

// The box is never larger than the output, so two pixels per axis determine a result. Normalisation
// is linear, so normalised values may be interpolated.
void Augmenter::stretch(const Box& box, bool flip, std::span<const std::uint8_t> pixels,
                        const PixelTables& tables, std::span<float> out) {
  const auto channels = static_cast<std::size_t>(shape_.channels);
  const auto width = static_cast<std::size_t>(shape_.width);
  for (std::size_t x = 0; x < width; ++x)
    columns_[flip ? width - 1 - x : x] = between(static_cast<int>(x), box.x, box.width, shape_.width);
  float* target = out.data();
  for (int y = 0; y < shape_.height; ++y) {
    const Between rows = between(y, box.y, box.height, shape_.height);
    const std::uint8_t* upper = pixels.data() + rows.first * width * channels;
    const std::uint8_t* lower = pixels.data() + rows.second * width * channels;
    for (const Between& column : columns_) {
      for (std::size_t c = 0; c < channels; ++c) {
        const float* table = tables.of_channel(c);
        const std::size_t left = column.first * channels + c, right = column.second * channels + c;
        const float above = table[upper[left]] + column.part * (table[upper[right]] - table[upper[left]]);
        const float under = table[lower[left]] + column.part * (table[lower[right]] - table[lower[left]]);
        *target++ = above + rows.part * (under - above);
      }
    }
  }
}

// Clears a square centred on any pixel, clipped to the image. 0 is the mean.
void Augmenter::cut_out(RandomStream& random, std::span<float> out) const {
  const int x = below(random, shape_.width) - changes_.cutout / 2;
  const int y = below(random, shape_.height) - changes_.cutout / 2;
  const int left = std::max(0, x), right = std::min(shape_.width, x + changes_.cutout);
  const int top = std::max(0, y), bottom = std::min(shape_.height, y + changes_.cutout);
  for (int row = top; row < bottom; ++row) {
    float* begin = out.data() + static_cast<std::ptrdiff_t>(row * shape_.width + left) * shape_.channels;
    std::fill_n(begin, (right - left) * shape_.channels, 0.0F);
  }
}

}  // namespace veche
