#pragma once

#include <cstdint>
#include <span>

#include "veche/compress/codec_spec.h"

namespace veche {

// Floats as two bytes, rounded to nearest, ties to even. NaN stays NaN and infinity stays infinite.
// Spans of one call have the same length and do not overlap.
enum class HalfFormat {
  fp16,  // finite numbers beyond 65504 become 65504
  bf16,  // finite numbers saturate at 3.39e38
};
// The format of a codec whose sum() is `halves`.
HalfFormat half_format(const CodecSpec& spec);

void to_half(HalfFormat format, std::span<const float> x, std::span<std::uint16_t> out);
void from_half(HalfFormat format, std::span<const std::uint16_t> code, std::span<float> out);
// into += weight * code
void add_half(HalfFormat format, std::span<const std::uint16_t> code, float weight, std::span<float> into);
// out = code of (x + code): one ring hop in one pass. `out` may be `code`.
void add_to_half(HalfFormat format, std::span<const float> x, std::span<const std::uint16_t> code,
                 std::span<std::uint16_t> out);

}  // namespace veche
