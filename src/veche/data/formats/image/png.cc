#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <stdexcept>

#include "veche/data/formats/image/formats.h"
#include "veche/data/sets/damage.h"

namespace veche {
namespace {

// libpng's simplified interface: no callbacks, no longjmp, errors in a field.
class PngReader {
 public:
  explicit PngReader(std::span<const std::uint8_t> bytes) {
    image_.version = PNG_IMAGE_VERSION;
    check(png_image_begin_read_from_memory(&image_, bytes.data(), bytes.size()));
    check_size(image_.width, image_.height);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_image_free(&image_); }

  ImageFacts facts() const {
    return {static_cast<int>(image_.width), static_cast<int>(image_.height),
            (image_.format & PNG_FORMAT_FLAG_COLOR) != 0 ? 3 : 1};
  }
  // Transparent pixels become black.
  void read(int channels, std::span<std::uint8_t> pixels) {
    image_.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    const png_color black{0, 0, 0};
    check(png_image_finish_read(&image_, &black, pixels.data(), 0, nullptr));
  }

 private:
  void check(int status) {
    if (status != 0) return;
    const std::string why = image_.message;
    png_image_free(&image_);
    throw Damaged(fmt::format("is a damaged PNG ({})", why));
  }

  png_image image_{};
};

}  // namespace

ImageFacts look_at_png(std::span<const std::uint8_t> bytes) { return PngReader(bytes).facts(); }

void decode_png(std::span<const std::uint8_t> bytes, int channels, Image& out) {
  PngReader reader(bytes);
  const ImageFacts facts = reader.facts();
  out.width = facts.width;
  out.height = facts.height;
  out.channels = channels;
  out.pixels.resize(static_cast<std::size_t>(facts.width) * static_cast<std::size_t>(facts.height) *
                    static_cast<std::size_t>(channels));
  reader.read(channels, out.pixels);
}

std::vector<std::uint8_t> encode_png(const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::vector<std::uint8_t> bytes(size);
  if (png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr) == 0)
    throw std::runtime_error(fmt::format("an image of {}x{} pixels could not be encoded as PNG ({})",
                                         image.width, image.height, header.message));
  bytes.resize(size);
  return bytes;
}

}  // namespace veche
