#pragma once

#include <cstdint>

#include "veche/data/formats/image/image.h"

namespace veche {

// The functions of image.h for each format.
ImageFacts look_at_jpeg(std::span<const std::uint8_t> bytes);
void decode_jpeg(std::span<const std::uint8_t> bytes, int channels, int least_side, Image& out);
ImageFacts look_at_png(std::span<const std::uint8_t> bytes);
void decode_png(std::span<const std::uint8_t> bytes, int channels, Image& out);

// Larger images are refused before memory is allocated, since a header may promise anything. The
// largest image of ImageNet has 31 million pixels.
constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 27;
void check_size(std::uint64_t width, std::uint64_t height);

}  // namespace veche
