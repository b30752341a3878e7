#include <cmath>
#include <cstring>

#include "veche/compress/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/compress/kernels/bits.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veche::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
constexpr std::size_t kStride = 64;  // floats whose bits make one word
constexpr std::size_t kVector = hn::MaxLanes(Floats());

// Bit i: whether `test` holds for float i of 64.
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
  // Floats are summed in doubles: a mean over millions, of which each shall count.
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += static_cast<double>(std::abs(x[i + lane]));
  double result = 0;
  for (const double lane : lanes) result += lane;
  for (; i < n; ++i) result += static_cast<double>(std::abs(x[i]));
  return result;
}

void signs(const float* x, std::size_t n, std::uint8_t* negative, std::uint8_t* present) {
  const Floats d;
  const auto zero = hn::Zero(d);
  const auto below = [&](auto v) { return hn::Lt(v, zero); };
  const auto there = [&](auto v) { return hn::Ne(v, zero); };
  std::size_t i = 0;
  for (; i + kStride <= n; i += kStride) {
    const std::uint64_t less = word_of(x + i, below), some = word_of(x + i, there);
    std::memcpy(negative + i / 8, &less, sizeof(less));
    std::memcpy(present + i / 8, &some, sizeof(some));
  }
  if (i == n) return;
  float rest[kStride];
  std::copy(x + i, x + n, rest);
  std::fill(rest + (n - i), rest + kStride, 1.0F);
  const std::uint64_t less = word_of(rest, below), some = word_of(rest, there);
  std::memcpy(negative + i / 8, &less, bytes_of_bits(n - i));
  std::memcpy(present + i / 8, &some, bytes_of_bits(n - i));
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
  const auto limit = hn::Set(whole, static_cast<std::int32_t>(least) - 1);  // magnitudes are not negative
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
void sign_bits(const float* x, std::size_t n, std::uint8_t* negative, std::uint8_t* present) {
  HWY_DYNAMIC_DISPATCH(signs)(x, n, negative, present);
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
