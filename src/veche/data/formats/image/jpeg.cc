#include <fmt/format.h>
#include <turbojpeg.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "veche/data/formats/image/formats.h"
#include "veche/data/formats/image/jpeg_scans.h"
#include "veche/data/sets/damage.h"

namespace veche {
namespace {

struct Destroy {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using Handle = std::unique_ptr<void, Destroy>;

// Creating a decoder costs more than decoding a small image, so every thread keeps one.
Handle& decoder() {
  thread_local Handle handle;
  if (!handle) handle.reset(tjInitDecompress());
  if (!handle) throw std::runtime_error("libturbojpeg could not be started");
  return handle;
}

// The library repairs what it can and warns. These warnings leave every pixel intact; the others
// ("premature end", "bad Huffman code") leave grey patches.
bool is_harmless(std::string_view warning) {
  for (const char* part :
       {"extraneous bytes before marker", "Adobe color transform", "Invalid SOS parameters"})
    if (warning.find(part) != std::string_view::npos) return true;
  return false;
}

void check(int status, Handle& handle) {
  if (status == 0) return;
  const std::string text = tjGetErrorStr2(handle.get());
  if (tjGetErrorCode(handle.get()) == TJERR_WARNING && is_harmless(text)) return;
  handle.reset();  // its state may be in the middle of the damaged file
  throw Damaged(fmt::format("is a damaged JPEG ({})", text));
}

struct JpegHeader {
  int width = 0, height = 0, colors = 0;
};

JpegHeader read_header(std::span<const std::uint8_t> bytes) {
  JpegHeader header;
  int subsampling = 0;
  Handle& handle = decoder();
  check(tjDecompressHeader3(handle.get(), bytes.data(), bytes.size(), &header.width, &header.height,
                            &subsampling, &header.colors),
        handle);
  check_size(static_cast<std::uint64_t>(header.width), static_cast<std::uint64_t>(header.height));
  return header;
}

// The library can decode at certain fractions of the size, which saves most of the work.
void shrink(JpegHeader& header, int least_side) {
  if (least_side <= 0) return;
  int count = 0;
  const tjscalingfactor* factors = tjGetScalingFactors(&count);
  int best = std::min(header.width, header.height);
  tjscalingfactor chosen{1, 1};
  for (const tjscalingfactor factor : std::span(factors, static_cast<std::size_t>(count))) {
    const int side = TJSCALED(std::min(header.width, header.height), factor);
    if (side >= least_side && side < best) {
      best = side;
      chosen = factor;
    }
  }
  header.width = TJSCALED(header.width, chosen);
  header.height = TJSCALED(header.height, chosen);
}

// CMYK as Adobe writes it: inverted, so that multiplying by the black channel gives red, green and
// blue.
void from_four_inks(std::vector<std::uint8_t>& pixels, int channels) {
  const std::size_t count = pixels.size() / 4;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* ink = &pixels[4 * i];
    const unsigned black = ink[3];
    const unsigned red = ink[0] * black / 255, green = ink[1] * black / 255, blue = ink[2] * black / 255;
    if (channels == 1) {
      pixels[i] = static_cast<std::uint8_t>((299 * red + 587 * green + 114 * blue + 500) / 1000);
    } else {
      pixels[3 * i] = static_cast<std::uint8_t>(red);
      pixels[3 * i + 1] = static_cast<std::uint8_t>(green);
      pixels[3 * i + 2] = static_cast<std::uint8_t>(blue);
    }
  }
  pixels.resize(count * static_cast<std::size_t>(channels));
}

}  // namespace

ImageFacts look_at_jpeg(std::span<const std::uint8_t> bytes) {
  const JpegHeader header = read_header(bytes);
  return {header.width, header.height, header.colors == TJCS_GRAY ? 1 : 3};
}

void decode_jpeg(std::span<const std::uint8_t> bytes, int channels, int least_side, Image& out) {
  JpegHeader header = read_header(bytes);
  check_jpeg_work(bytes, static_cast<std::uint64_t>(header.width), static_cast<std::uint64_t>(header.height));
  shrink(header, least_side);
  const bool inks = header.colors == TJCS_CMYK || header.colors == TJCS_YCCK;
  const int format = inks ? TJPF_CMYK : channels == 1 ? TJPF_GRAY : TJPF_RGB;
  const auto samples = static_cast<std::size_t>(tjPixelSize[format]);
  out.width = header.width;
  out.height = header.height;
  out.channels = channels;
  out.pixels.resize(static_cast<std::size_t>(header.width) * static_cast<std::size_t>(header.height) *
                    samples);
  Handle& handle = decoder();
  check(tjDecompress2(handle.get(), bytes.data(), bytes.size(), out.pixels.data(), header.width, 0,
                      header.height, format, 0),
        handle);
  if (inks) from_four_inks(out.pixels, channels);
}

std::vector<std::uint8_t> encode_jpeg(const Image& image, int quality) {
  const Handle encoder(tjInitCompress());
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool grey = image.channels == 1;
  const int status = encoder ? tjCompress2(encoder.get(), image.pixels.data(), image.width, 0, image.height,
                                           grey ? TJPF_GRAY : TJPF_RGB, &bytes, &size,
                                           grey ? TJSAMP_GRAY : TJSAMP_444, quality, TJFLAG_ACCURATEDCT)
                             : -1;
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(bytes, tjFree);
  if (status != 0)
    throw std::runtime_error(
        fmt::format("an image of {}x{} pixels could not be encoded as JPEG", image.width, image.height));
  return {bytes, bytes + size};
}

}  // namespace veche
