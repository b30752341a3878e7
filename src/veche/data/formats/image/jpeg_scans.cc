#include "veche/data/formats/image/jpeg_scans.h"

#include <fmt/format.h>

#include <cstring>

#include "veche/data/formats/image/formats.h"
#include "veche/data/sets/damage.h"

namespace veche {
namespace {

constexpr std::uint8_t kArithmeticSequential = 0xc9, kArithmeticProgressive = 0xca, kEndOfImage = 0xd9,
                       kStartOfScan = 0xda;

// Markers without a length: TEM, the restarts, and the start of an image.
bool stands_alone(std::uint8_t marker) { return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8); }

struct Scans {
  std::uint64_t count = 0;
  bool huffman = true;
};

// Skips the entropy-coded data between segments, where a zero follows every byte ff.
Scans scans_of(std::span<const std::uint8_t> bytes) {
  Scans scans;
  while (!bytes.empty()) {
    const void* found = std::memchr(bytes.data(), 0xff, bytes.size());
    if (found == nullptr) break;
    bytes =
        bytes.subspan(static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - bytes.data()) + 1);
    if (bytes.empty() || bytes[0] == kEndOfImage) break;
    const std::uint8_t marker = bytes[0];
    if (marker == 0xff) continue;  // a fill byte: the marker follows
    bytes = bytes.subspan(1);
    if (marker == 0 || stands_alone(marker)) continue;
    if (marker == kStartOfScan) ++scans.count;
    if (marker == kArithmeticSequential || marker == kArithmeticProgressive) scans.huffman = false;
    const std::size_t length = bytes.size() < 2 ? bytes.size() : bytes[0] * std::size_t{256} + bytes[1];
    bytes = bytes.subspan(std::min(length, bytes.size()));
  }
  return scans;
}

}  // namespace

void check_jpeg_work(std::span<const std::uint8_t> bytes, std::uint64_t width, std::uint64_t height) {
  // Encoders write about ten scans. A scan of a million pixels takes a millisecond.
  constexpr std::uint64_t kMostScans = 100, kMostScannedPixels = 10 * kMostPixels;
  // A Huffman code has at least one bit, and every 8x8 block has at least one code.
  constexpr std::uint64_t kMostPixelsPerByte = 8 * 64;
  const std::uint64_t pixels = width * height;
  const Scans scans = scans_of(bytes);
  if (scans.count > kMostScans || scans.count * pixels > kMostScannedPixels)
    throw Damaged(
        fmt::format("is too much work to decode: {} scans of {}x{} pixels, where encoders write "
                    "about 10; at most {} are read, and fewer of more than {} million pixels",
                    scans.count, width, height, kMostScans, kMostScannedPixels / kMostScans / 1'000'000));
  if (scans.huffman && pixels / kMostPixelsPerByte > bytes.size())
    throw Damaged(
        fmt::format("is a damaged JPEG ({} bytes cannot hold {}x{} pixels)", bytes.size(), width, height));
}

}  // namespace veche
