#include "veche/data/formats/image/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "veche/data/formats/image/formats.h"
#include "veche/data/sets/damage.h"

namespace veche {
namespace {

enum class Format { jpeg, png };

Format format_of(std::span<const std::uint8_t> bytes) {
  constexpr std::array<std::uint8_t, 3> kJpeg{0xff, 0xd8, 0xff};
  constexpr std::array<std::uint8_t, 8> kPng{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  const auto begins_with = [&](const auto& magic) {
    return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
  };
  if (bytes.empty()) throw Damaged("is empty");
  if (begins_with(kJpeg)) return Format::jpeg;
  if (begins_with(kPng)) return Format::png;
  throw Damaged(fmt::format("is neither JPEG nor PNG: it begins with {:02x}",
                            fmt::join(bytes.first(std::min<std::size_t>(bytes.size(), 4)), " ")));
}

}  // namespace

void check_size(std::uint64_t width, std::uint64_t height) {
  if (width == 0 || height == 0) throw Damaged("has no pixels");
  if (width > kMostPixels || height > kMostPixels / width)
    throw Damaged(fmt::format("is too large to be true: {}x{} pixels", width, height));
}

ImageFacts look_at_image(std::span<const std::uint8_t> bytes) {
  return format_of(bytes) == Format::jpeg ? look_at_jpeg(bytes) : look_at_png(bytes);
}

void decode_image(std::span<const std::uint8_t> bytes, int channels, int least_side, Image& out) {
  if (format_of(bytes) == Format::jpeg) return decode_jpeg(bytes, channels, least_side, out);
  decode_png(bytes, channels, out);
}

}  // namespace veche
