#include <cmath>
#include <cstring>

#include "veche/compress/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/compress/kernels/bits.cc"
#include "veche/base/machine/each_target.h"

HWY_BEFORE_NAMESPACE();
namespace veche::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
constexpr std::size_t kStride = 64;  // floats whose bits fill one word
constexpr std::size_t kVector = hn::MaxLanes(Floats());

// Bit i says whether `test` holds for float i of 64.
template <class Test>
HWY_INLINE std::uint64_t word_of(const float* x, Test test) {
  const Floats d;
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kStride; i += kVector) {
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, test(hn::LoadU(d, x + i)), bits);
    std::uint16_t lanes;  // at most 16
    std::memcpy(&lanes, bits, sizeof(lanes));
    word |= static_cast<std::uint64_t>(lanes) << i;
  }
  return word;
}

double magnitudes(const float* x, std::size_t n) {
  constexpr std::size_t kLanes = 16;
  // Groups of sixteen floats are summed as floats, the group sums as doubles: exact enough for a
  // mean over millions.
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    float sums[kLanes] = {};
    for (std::size_t j = i; j < i + kBlock; j += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += std::abs(x[j + lane]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += static_cast<double>(sums[lane]);
  }
  double result = 0;
  for (const double lane : lanes) result += lane;
  for (; i < n; ++i) result += static_cast<double>(std::abs(x[i]));
  return result;
}

// The bits of one block as words. Returns whether the block has zeros.
HWY_INLINE bool block_signs(const float* x, std::uint64_t* negative, std::uint64_t* present) {
  const Floats d;
  const auto zero = hn::Zero(d);
  auto smallest = hn::Set(d, 1.0F);
  for (std::size_t i = 0; i < kBlock; i += kStride) {
    *negative++ = word_of(x + i, [&](auto v) {
      smallest = hn::Min(smallest, hn::Abs(v));
      return hn::Lt(v, zero);
    });
  }
  if (hn::AllFalse(d, hn::Eq(smallest, zero))) return false;
  for (std::size_t i = 0; i < kBlock; i += kStride)
    *present++ = word_of(x + i, [&](auto v) { return hn::Ne(v, zero); });
  return true;
}

std::size_t signs(const float* x, std::size_t n, std::uint8_t* negative, std::uint8_t* with_zeros,
                  std::uint8_t* present) {
  std::fill(with_zeros, with_zeros + bytes_of_bits(blocks_of(n)), std::uint8_t{0});
  const std::uint8_t* const first = present;
  for (std::size_t i = 0; i < n; i += kBlock) {
    const std::size_t floats = n - i < kBlock ? n - i : kBlock;
    float rest[kBlock];
    if (floats < kBlock) {
      std::copy(x + i, x + n, rest);
      std::fill(rest + floats, rest + kBlock, 1.0F);
    }
    std::uint64_t less[kBlock / kStride], some[kBlock / kStride];
    const bool zeros = block_signs(floats < kBlock ? rest : x + i, less, some);
    std::memcpy(negative + i / 8, less, bytes_of_bits(floats));
    if (!zeros) continue;
    const std::size_t block = i / kBlock;
    with_zeros[block / 8] = static_cast<std::uint8_t>(with_zeros[block / 8] | 1U << (block % 8));
    std::memcpy(present, some, bytes_of_bits(floats));
    present += bytes_of_bits(floats);
  }
  return static_cast<std::size_t>(present - first);
}

// Lanes [i, i + kVector) of a word, as a mask.
HWY_INLINE hn::Mask<Floats> mask_at(std::uint64_t word, std::size_t i) {
  const std::uint64_t shifted = word >> i;
  std::uint8_t bits[8];
  std::memcpy(bits, &shifted, sizeof(bits));
  return hn::LoadMaskBits(Floats(), bits);
}

void with_signs(const std::uint8_t* negative, const std::uint8_t* present, std::size_t n, float size,
                float* into) {
  const Floats d;
  const auto plus = hn::Set(d, size), minus = hn::Set(d, -size);
  const auto at = [&](std::uint64_t less, std::uint64_t some, float* to) {
    for (std::size_t j = 0; j < kStride; j += kVector) {
      auto step = hn::IfThenElse(mask_at(less, j), minus, plus);
      if (present != nullptr) step = hn::IfThenElseZero(mask_at(some, j), step);
      hn::StoreU(hn::Add(hn::LoadU(d, to + j), step), d, to + j);
    }
  };
  std::size_t i = 0;
  for (; i + kStride <= n; i += kStride) {
    std::uint64_t less, some = 0;
    std::memcpy(&less, negative + i / 8, sizeof(less));
    if (present != nullptr) std::memcpy(&some, present + i / 8, sizeof(some));
    at(less, some, into + i);
  }
  if (i == n) return;
  std::uint64_t less = 0, some = 0;
  std::memcpy(&less, negative + i / 8, bytes_of_bits(n - i));
  if (present != nullptr) std::memcpy(&some, present + i / 8, bytes_of_bits(n - i));
  float rest[kStride] = {};
  std::copy(into + i, into + n, rest);
  at(less, some, rest);
  std::copy(rest, rest + (n - i), into + i);
}

std::size_t large(const float* x, std::size_t n, std::uint32_t least, std::uint32_t* places) {
  const Floats d;
  const hn::RebindToSigned<Floats> whole;
  const auto magnitude = hn::Set(whole, 0x7fffffff);
  const auto limit = hn::Set(whole, static_cast<std::int32_t>(least) - 1);  // magnitudes are non-negative
  const auto test = [&](auto v) {
    return hn::RebindMask(d, hn::Gt(hn::And(hn::BitCast(whole, v), magnitude), limit));
  };
  std::size_t found = 0;
  const auto take = [&](std::uint64_t word, std::size_t start) {
    for (; word != 0; word &= word - 1)
      places[found++] = static_cast<std::uint32_t>(start + static_cast<std::size_t>(__builtin_ctzll(word)));
  };
  std::size_t i = 0;
  for (; i + kStride <= n; i += kStride) take(word_of(x + i, test), i);
  if (i == n) return found;
  float rest[kStride] = {};
  std::copy(x + i, x + n, rest);
  take(word_of(rest, test) & ((std::uint64_t{1} << (n - i)) - 1), i);
  return found;
}

}  // namespace veche::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veche::kernels {

HWY_EXPORT(magnitudes);
HWY_EXPORT(signs);
HWY_EXPORT(with_signs);
HWY_EXPORT(large);

double sum_of_magnitudes(const float* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(magnitudes)(x, n); }
std::size_t sign_bits(const float* x, std::size_t n, std::uint8_t* negative, std::uint8_t* with_zeros,
                      std::uint8_t* present) {
  return HWY_DYNAMIC_DISPATCH(signs)(x, n, negative, with_zeros, present);
}
void add_signs(const std::uint8_t* negative, const std::uint8_t* present, std::size_t n, float size,
               float* into) {
  HWY_DYNAMIC_DISPATCH(with_signs)(negative, present, n, size, into);
}
std::size_t find_large(const float* x, std::size_t n, std::uint32_t least, std::uint32_t* places) {
  return HWY_DYNAMIC_DISPATCH(large)(x, n, least, places);
}

}  // namespace veche::kernels
#endif
