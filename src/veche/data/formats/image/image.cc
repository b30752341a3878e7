#include "veche/data/formats/image/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "veche/data/formats/image/formats.h"
#include "veche/data/sets/damage.h"

namespace veche {
namespace {

// `first` occurs `at` bytes after the start.
struct UnreadFormat {
  std::string_view name;
  std::size_t at;
  std::string_view first;
  std::string_view endings;
};
constexpr UnreadFormat kUnreadFormats[] = {
    {"GIF", 0, "GIF8", ".gif"},
    {"BMP", 0, "BM", ".bmp"},
    {"WebP", 8, "WEBP", ".webp"},
    {"TIFF", 0, {"II*\0", 4}, ".tif .tiff"},
    {"TIFF", 0, {"MM\0*", 4}, ""},
    {"AVIF", 4, "ftypavif", ".avif"},
    {"HEIC", 4, "ftyphei", ".heic .heif"},
    {"JPEG XL", 4, "JXL ", ".jxl"},
    {"JPEG 2000", 4, "jP  ", ".jp2 .j2k"},
};

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
  if (const auto name = unread_format(bytes); !name.empty())
    throw Damaged(fmt::format("is a {} picture, a format that is not read: {}", name, kConvert));
  throw Damaged(fmt::format("is neither JPEG nor PNG: it begins with {:02x}",
                            fmt::join(bytes.first(std::min<std::size_t>(bytes.size(), 4)), " ")));
}

}  // namespace

std::string_view unread_format(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min<std::size_t>(bytes.size(), 16));
  for (const UnreadFormat& format : kUnreadFormats)
    if (text.size() > format.at && text.substr(format.at).starts_with(format.first)) return format.name;
  return {};
}

std::string_view unread_format_of_name(std::string_view path) {
  std::string ending(path.substr(std::min(path.rfind('.'), path.size())));
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (ending.size() < 2 || ending.find_first_of("/ ") != ending.npos) return {};
  for (const UnreadFormat& format : kUnreadFormats)
    if ((std::string(format.endings) + " ").find(ending + " ") != std::string::npos) return format.name;
  return {};
}

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
