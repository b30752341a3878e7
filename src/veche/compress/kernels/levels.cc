#include <bit>
#include <cmath>
#include <cstring>

#include "veche/compress/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/compress/kernels/levels.cc"
#include "veche/base/machine/each_target.h"

// Plain loops, vectorised by the compiler for each instruction set.
HWY_BEFORE_NAMESPACE();
namespace veche::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLanes = 16;
constexpr std::size_t kPlaneBytes = kBlock / 8;
constexpr std::uint32_t kInfinity = 0x7f800000;

HWY_INLINE std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// The largest magnitude; NaN counts as more than infinity.
HWY_INLINE std::uint32_t largest(const float* x) {
  std::int32_t lanes[kLanes] = {};
  for (std::size_t i = 0; i < kBlock; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto magnitude = static_cast<std::int32_t>(bits_of(x[i + lane]) & 0x7fffffffU);
      lanes[lane] = magnitude > lanes[lane] ? magnitude : lanes[lane];
    }
  std::int32_t result = 0;
  for (const std::int32_t lane : lanes) result = lane > result ? lane : result;
  return static_cast<std::uint32_t>(result);
}

HWY_INLINE double squares(const float* x) {
  double lanes[kLanes] = {};
  for (std::size_t i = 0; i < kBlock; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += static_cast<double>(x[i + lane]) * static_cast<double>(x[i + lane]);
  double result = 0;
  for (const double lane : lanes) result += lane;
  return result;
}

bool block_to_int8(const float* x, float* scale, std::int8_t* out) {
  const std::uint32_t magnitude = largest(x);
  if (magnitude >= kInfinity) return false;
  const float most = std::bit_cast<float>(magnitude);
  float inverse = 127.0F / most;
  if (!(inverse < std::bit_cast<float>(kInfinity))) inverse = 0;  // all zeros, or nearly
  *scale = inverse == 0 ? 0 : most / 127.0F;
  constexpr float kRounds = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  for (std::size_t i = 0; i < kBlock; ++i)
    out[i] = static_cast<std::int8_t>(bits_of(x[i] * inverse + kRounds) - bits_of(kRounds));
  return true;
}

void add_block_int8(float factor, const std::int8_t* code, float* into) {
  for (std::size_t i = 0; i < kBlock; ++i) into[i] += factor * static_cast<float>(code[i]);
}

using Bytes = hn::ScalableTag<std::uint8_t>;
constexpr bool kVectors = hn::MaxLanes(Bytes()) >= 8;  // otherwise masks are smaller than a byte of bits

HWY_INLINE void to_planes(const std::uint8_t* code, int bits, std::uint8_t* planes) {
  for (int bit = 0; bit < bits; ++bit, planes += kPlaneBytes) {
    if constexpr (kVectors) {
      const Bytes d;
      const auto here = hn::Set(d, static_cast<std::uint8_t>(1 << bit));
      for (std::size_t i = 0; i < kBlock; i += hn::Lanes(d))
        hn::StoreMaskBits(d, hn::TestBit(hn::LoadU(d, code + i), here), planes + i / 8);
    } else {
      std::fill(planes, planes + kPlaneBytes, std::uint8_t{0});
      for (std::size_t i = 0; i < kBlock; ++i)
        planes[i / 8] = static_cast<std::uint8_t>(planes[i / 8] | ((code[i] >> bit & 1) << (i % 8)));
    }
  }
}

HWY_INLINE void from_planes(const std::uint8_t* planes, int bits, std::uint8_t* code) {
  if constexpr (kVectors) {
    const Bytes d;
    for (std::size_t i = 0; i < kBlock; i += hn::Lanes(d)) {
      auto value = hn::Zero(d);
      for (int bit = 0; bit < bits; ++bit)
        value = hn::Or(value,
                       hn::IfThenElseZero(
                           hn::LoadMaskBits(d, planes + static_cast<std::size_t>(bit) * kPlaneBytes + i / 8),
                           hn::Set(d, static_cast<std::uint8_t>(1 << bit))));
      hn::StoreU(value, d, code + i);
    }
  } else {
    for (std::size_t i = 0; i < kBlock; ++i) {
      int value = 0;
      for (int bit = 0; bit < bits; ++bit)
        value |= (planes[static_cast<std::size_t>(bit) * kPlaneBytes + i / 8] >> (i % 8) & 1) << bit;
      code[i] = static_cast<std::uint8_t>(value);
    }
  }
}

// Random numbers that depend only on key and position.
HWY_INLINE std::uint32_t scrambled(std::uint32_t place, std::uint32_t low, std::uint32_t high) {
  std::uint32_t h = place + low;
  h = (h ^ (h >> 16)) * 0x21f0aaadU;
  h = (h ^ high ^ (h >> 15)) * 0xd35a2d97U;
  return h ^ (h >> 15);
}

bool block_to_levels(const float* x, std::size_t place, int levels, std::uint64_t key, float* norm,
                     std::uint8_t* planes, int bits) {
  *norm = static_cast<float>(std::sqrt(squares(x)));
  if (!(*norm < std::bit_cast<float>(kInfinity))) return false;
  float per_level = static_cast<float>(levels) / *norm;
  if (!(per_level < std::bit_cast<float>(kInfinity))) per_level = *norm = 0;
  std::uint8_t code[kBlock];
  const auto low = static_cast<std::uint32_t>(key);
  const auto high = static_cast<std::uint32_t>(key >> 32);
  const auto start = static_cast<std::uint32_t>(place);
  for (std::uint32_t i = 0; i < kBlock; ++i) {
    const float size = std::abs(x[i]) * per_level;
    auto level = static_cast<std::int32_t>(size);
    const float rest = size - static_cast<float>(level);
    const float chance =
        static_cast<float>(static_cast<std::int32_t>(scrambled(start + i, low, high) >> 8)) * 0x1.0p-24F;
    level += chance < rest ? 1 : 0;
    level = level > levels ? levels : level;  // the norm was rounded
    code[i] = static_cast<std::uint8_t>(levels + (x[i] < 0 ? -level : level));
  }
  to_planes(code, bits, planes);
  return true;
}

std::uint8_t largest_code(const std::uint8_t* planes, int bits) {
  std::uint8_t code[kBlock];
  from_planes(planes, bits, code);
  std::uint8_t result = 0;
  for (const std::uint8_t value : code) result = value > result ? value : result;
  return result;
}

void add_block_levels(float factor, const std::uint8_t* planes, int levels, int bits, float* into) {
  std::uint8_t code[kBlock];
  from_planes(planes, bits, code);
  for (std::size_t i = 0; i < kBlock; ++i)
    into[i] += factor * static_cast<float>(static_cast<std::int32_t>(code[i]) - levels);
}

// Whole blocks in place; the last one in a copy padded with zeros.
template <class T, class Step>
HWY_INLINE void each_block(T* x, std::size_t n, bool write_back, Step step) {
  std::size_t block = 0;
  for (; (block + 1) * kBlock <= n; ++block) step(block, x + block * kBlock);
  if (block * kBlock == n) return;
  std::remove_const_t<T> rest[kBlock] = {};
  std::copy(x + block * kBlock, x + n, rest);
  step(block, rest);
  if constexpr (!std::is_const_v<T>)
    if (write_back) std::copy(rest, rest + (n - block * kBlock), x + block * kBlock);
}

bool all_to_int8(const float* x, std::size_t n, float* scales, std::int8_t* out) {
  bool numbers = true;
  each_block(x, n, false, [&](std::size_t block, const float* values) {
    if ((block + 1) * kBlock <= n) {
      numbers &= block_to_int8(values, scales + block, out + block * kBlock);
    } else {
      std::int8_t code[kBlock] = {};
      numbers &= block_to_int8(values, scales + block, code);
      std::copy(code, code + (n - block * kBlock), out + block * kBlock);
    }
  });
  return numbers;
}

void all_add_int8(const float* scales, const std::int8_t* code, std::size_t n, float weight, float* into) {
  each_block(into, n, true, [&](std::size_t block, float* values) {
    if ((block + 1) * kBlock <= n) {
      add_block_int8(weight * scales[block], code + block * kBlock, values);
    } else {
      std::int8_t rest[kBlock] = {};
      std::copy(code + block * kBlock, code + n, rest);
      add_block_int8(weight * scales[block], rest, values);
    }
  });
}

bool all_to_levels(const float* x, std::size_t n, int levels, std::uint64_t key, float* norms,
                   std::uint8_t* planes) {
  const int bits = bits_of_levels(levels);
  bool numbers = true;
  each_block(x, n, false, [&](std::size_t block, const float* values) {
    numbers &= block_to_levels(values, block * kBlock, levels, key, norms + block,
                               planes + block * kPlaneBytes * static_cast<std::size_t>(bits), bits);
  });
  return numbers;
}

bool all_levels_in_range(const std::uint8_t* planes, std::size_t n, int levels) {
  const int bits = bits_of_levels(levels);
  for (std::size_t block = 0; block < blocks_of(n); ++block)
    if (largest_code(planes + block * kPlaneBytes * static_cast<std::size_t>(bits), bits) > 2 * levels)
      return false;
  return true;
}

void all_add_levels(const float* norms, const std::uint8_t* planes, std::size_t n, int levels, float weight,
                    float* into) {
  const int bits = bits_of_levels(levels);
  each_block(into, n, true, [&](std::size_t block, float* values) {
    add_block_levels(weight * (norms[block] / static_cast<float>(levels)),
                     planes + block * kPlaneBytes * static_cast<std::size_t>(bits), levels, bits, values);
  });
}

}  // namespace veche::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veche::kernels {

HWY_EXPORT(all_to_int8);
HWY_EXPORT(all_add_int8);
HWY_EXPORT(all_to_levels);
HWY_EXPORT(all_levels_in_range);
HWY_EXPORT(all_add_levels);

int bits_of_levels(int levels) { return std::bit_width(static_cast<unsigned>(2 * levels)); }

bool to_int8(const float* x, std::size_t n, float* scales, std::int8_t* out) {
  return HWY_DYNAMIC_DISPATCH(all_to_int8)(x, n, scales, out);
}
void add_int8(const float* scales, const std::int8_t* code, std::size_t n, float weight, float* into) {
  HWY_DYNAMIC_DISPATCH(all_add_int8)(scales, code, n, weight, into);
}
bool to_levels(const float* x, std::size_t n, int levels, std::uint64_t key, float* norms,
               std::uint8_t* planes) {
  return HWY_DYNAMIC_DISPATCH(all_to_levels)(x, n, levels, key, norms, planes);
}
bool levels_in_range(const std::uint8_t* planes, std::size_t n, int levels) {
  return HWY_DYNAMIC_DISPATCH(all_levels_in_range)(planes, n, levels);
}
void add_levels(const float* norms, const std::uint8_t* planes, std::size_t n, int levels, float weight,
                float* into) {
  HWY_DYNAMIC_DISPATCH(all_add_levels)(norms, planes, n, levels, weight, into);
}

}  // namespace veche::kernels
#endif
