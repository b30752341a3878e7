#pragma once

#include <cstdint>
#include <span>

namespace veche {

// Throws Damaged if decoding a JPEG of this size would take more time or memory than an honest file
// needs. Reads only the markers. A progressive file can request a pass over all pixels with every
// ten bytes, so a small file could keep a core busy for minutes.
void check_jpeg_work(std::span<const std::uint8_t> bytes, std::uint64_t width, std::uint64_t height);

}  // namespace veche
