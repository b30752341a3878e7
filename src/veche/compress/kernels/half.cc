#include <bit>

#include "veche/compress/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/compress/kernels/half.cc"
#include "veche/base/machine/each_target.h"

HWY_BEFORE_NAMESPACE();
namespace veche::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr float kLargestFp16 = 65504.0F;

// --- conversion of one vector of floats to codes (as 32-bit integers) and back ---

// Highway's fallback for machines without these instructions truncates and has no infinities.
HWY_INLINE std::uint16_t fp16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  constexpr std::uint32_t kInfinite = 0x7f800000, kNormal = 0x38800000;  // 2^-14
  std::uint32_t code;
  if (size > kInfinite)
    code = 0x7e00 | (size >> 13 & 0x3ff);
  else if (size == kInfinite)
    code = 0x7c00;
  else if (size > std::bit_cast<std::uint32_t>(kLargestFp16))
    code = 0x7bff;
  else if (size >= kNormal)
    code = (size + 0xfff + (size >> 13 & 1) - (112U << 23)) >> 13;
  else  // adding 1/2 rounds to a multiple of 2^-24
    code =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  return static_cast<std::uint16_t>(sign | code);
}
HWY_INLINE float from_fp16_code(std::uint32_t code) {
  const std::uint32_t sign = (code & 0x8000) << 16, exponent = code >> 10 & 0x1f, mantissa = code & 0x3ff;
  if (exponent == 0) {
    const float size = static_cast<float>(mantissa) * 0x1.0p-24F;
    return sign == 0 ? size : -size;
  }
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13 | (mantissa == 0 ? 0U : 0x400000U));
  return std::bit_cast<float>(sign | (((code & 0x7fff) << 13) + (112U << 23)));
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
constexpr bool kHasInstructions = false;
#else
constexpr bool kHasInstructions = true;
#endif

struct Fp16 {
  template <class D, class V = hn::Vec<D>>
  static auto code(D d, V x) {
    if constexpr (kHasInstructions) {
      return vector_code(d, x);
    } else {
      float lanes[hn::MaxLanes(D())];
      std::uint16_t codes[hn::MaxLanes(D())];
      hn::StoreU(x, d, lanes);
      for (std::size_t i = 0; i < hn::MaxLanes(D()); ++i) codes[i] = fp16_of(lanes[i]);
      return hn::LoadU(hn::Rebind<std::uint16_t, D>(), codes);
    }
  }
  template <class D, class C>
  static auto value(D d, C code) {
    if constexpr (kHasInstructions) {
      return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), code));
    } else {
      float lanes[hn::MaxLanes(D())];
      std::uint16_t codes[hn::MaxLanes(D())];
      hn::StoreU(code, hn::Rebind<std::uint16_t, D>(), codes);
      for (std::size_t i = 0; i < hn::MaxLanes(D()); ++i) lanes[i] = from_fp16_code(codes[i]);
      return hn::LoadU(d, lanes);
    }
  }

 private:
  template <class D, class V>
  static auto vector_code(D d, V x) {
    const hn::Rebind<hwy::float16_t, D> half;
    // Comparisons with NaN are false, and infinity must stay: only finite numbers saturate.
    const V largest = hn::Set(d, kLargestFp16);
    const auto too_large = hn::And(hn::Gt(hn::Abs(x), largest), hn::Lt(hn::Abs(x), hn::Inf(d)));
    const V y = hn::IfThenElse(too_large, hn::CopySign(largest, x), x);
    return hn::BitCast(hn::Rebind<std::uint16_t, D>(), hn::DemoteTo(half, y));
  }
};

struct Bf16 {
  template <class D, class V = hn::Vec<D>>
  static auto code(D /*d*/, V x) {
    const hn::RebindToUnsigned<D> whole;
    const auto bits = hn::BitCast(whole, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(whole, 1));
    auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(whole, 0x7fff))));
    const auto upper = hn::ShiftRight<16>(bits);
    // Finite numbers stay finite. A NaN keeps its upper half with a bit set, so that it does not
    // become infinity.
    const auto magnitude = hn::And(bits, hn::Set(whole, 0x7fffffff));
    const auto now_infinite = hn::Eq(hn::And(rounded, hn::Set(whole, 0x7fff)), hn::Set(whole, 0x7f80));
    rounded = hn::IfThenElse(now_infinite, upper, rounded);
    const auto nan =
        hn::Gt(hn::BitCast(hn::RebindToSigned<D>(), magnitude), hn::Set(hn::RebindToSigned<D>(), 0x7f800000));
    const auto nan_bits = hn::IfThenElse(hn::Eq(hn::And(upper, hn::Set(whole, 0x7f)), hn::Zero(whole)),
                                         hn::Or(upper, hn::Set(whole, 1)), upper);
    rounded = hn::IfThenElse(hn::RebindMask(whole, nan), nan_bits, rounded);
    return hn::TruncateTo(hn::Rebind<std::uint16_t, D>(), rounded);
  }
  template <class D, class C>
  static auto value(D d, C code) {
    const hn::RebindToUnsigned<D> whole;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(whole, code)));
  }
};

// Whole vectors in place; the remainder in copies.
template <class Format>
struct Passes {
  using D = hn::ScalableTag<float>;
  using Half = hn::Rebind<std::uint16_t, D>;
  static constexpr std::size_t kLanes = hn::MaxLanes(D());

  // out = code of combine(previous code, x); either may be absent
  static void code(const float* x, const std::uint16_t* before, std::size_t n, std::uint16_t* out) {
    const D d;
    const Half half;
    const auto at = [&](const float* from, const std::uint16_t* had, std::uint16_t* to) {
      auto value = hn::LoadU(d, from);
      if (had != nullptr) value = hn::Add(value, Format::value(d, hn::LoadU(half, had)));
      hn::StoreU(Format::code(d, value), half, to);
    };
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) at(x + i, before == nullptr ? nullptr : before + i, out + i);
    if (i == n) return;
    float rest[kLanes] = {};
    std::uint16_t had[kLanes] = {}, code[kLanes];
    std::copy(x + i, x + n, rest);
    if (before != nullptr) std::copy(before + i, before + n, had);
    at(rest, before == nullptr ? nullptr : had, code);
    std::copy(code, code + (n - i), out + i);
  }

  // out = value, or out += weight * value
  template <bool add>
  static void decode(const std::uint16_t* code, std::size_t n, float weight, float* out) {
    const D d;
    const Half half;
    const auto w = hn::Set(d, weight);
    const auto at = [&](const std::uint16_t* from, float* to) {
      auto value = Format::value(d, hn::LoadU(half, from));
      if constexpr (add) value = hn::Add(hn::LoadU(d, to), hn::Mul(w, value));
      hn::StoreU(value, d, to);
    };
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) at(code + i, out + i);
    if (i == n) return;
    std::uint16_t rest[kLanes] = {};
    float values[kLanes] = {};
    std::copy(code + i, code + n, rest);
    std::copy(out + i, out + n, values);
    at(rest, values);
    std::copy(values, values + (n - i), out + i);
  }
};

void fp16_code(const float* x, const std::uint16_t* before, std::size_t n, std::uint16_t* out) {
  Passes<Fp16>::code(x, before, n, out);
}
void bf16_code(const float* x, const std::uint16_t* before, std::size_t n, std::uint16_t* out) {
  Passes<Bf16>::code(x, before, n, out);
}
void fp16_decode(const std::uint16_t* code, std::size_t n, float* out) {
  Passes<Fp16>::decode<false>(code, n, 1, out);
}
void bf16_decode(const std::uint16_t* code, std::size_t n, float* out) {
  Passes<Bf16>::decode<false>(code, n, 1, out);
}
void fp16_add(const std::uint16_t* code, std::size_t n, float weight, float* into) {
  Passes<Fp16>::decode<true>(code, n, weight, into);
}
void bf16_add(const std::uint16_t* code, std::size_t n, float weight, float* into) {
  Passes<Bf16>::decode<true>(code, n, weight, into);
}

}  // namespace veche::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veche::kernels {

HWY_EXPORT(fp16_code);
HWY_EXPORT(bf16_code);
HWY_EXPORT(fp16_decode);
HWY_EXPORT(bf16_decode);
HWY_EXPORT(fp16_add);
HWY_EXPORT(bf16_add);

void to_fp16(const float* x, std::size_t n, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(fp16_code)(x, nullptr, n, out);
}
void to_bf16(const float* x, std::size_t n, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(bf16_code)(x, nullptr, n, out);
}
void add_to_fp16(const float* x, const std::uint16_t* code, std::size_t n, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(fp16_code)(x, code, n, out);
}
void add_to_bf16(const float* x, const std::uint16_t* code, std::size_t n, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(bf16_code)(x, code, n, out);
}
void from_fp16(const std::uint16_t* code, std::size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(fp16_decode)(code, n, out);
}
void from_bf16(const std::uint16_t* code, std::size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(bf16_decode)(code, n, out);
}
void add_fp16(const std::uint16_t* code, std::size_t n, float weight, float* into) {
  HWY_DYNAMIC_DISPATCH(fp16_add)(code, n, weight, into);
}
void add_bf16(const std::uint16_t* code, std::size_t n, float weight, float* into) {
  HWY_DYNAMIC_DISPATCH(bf16_add)(code, n, weight, into);
}

}  // namespace veche::kernels
#endif
