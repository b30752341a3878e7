#include "veche/model/torch/kernels/token_kernels.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/model/torch/kernels/token_kernels.cc"
#include "veche/base/machine/each_target.h"
//
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace veche::torch_model::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Calls body(tag, i) for consecutive vectors of [0, count); the rest one by one.
template <class Body>
HWY_INLINE void for_vectors(std::int64_t count, Body body) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(d, i);
  const hn::CappedTag<float, 1> one;
  for (; i < count; ++i) body(one, i);
}

// Sums over a row: of vectors, and of what is left.
struct RowSum {
  hn::Vec<hn::ScalableTag<float>> vectors;
  float rest;

  // Written out: a constructor of the compiler's own would not be for this instruction set.
  HWY_INLINE RowSum() {
    vectors = hn::Zero(hn::ScalableTag<float>());
    rest = 0;
  }

  HWY_INLINE void add(hn::ScalableTag<float>, hn::Vec<hn::ScalableTag<float>> v) {
    vectors = hn::Add(vectors, v);
  }
  template <class One>
  HWY_INLINE void add(One, hn::Vec<One> v) {
    rest += hn::GetLane(v);
  }
  HWY_INLINE float total() const {
    const hn::ScalableTag<float> d;
    return hn::GetLane(hn::SumOfLanes(d, vectors)) + rest;
  }
};

void norm(const float* x, std::int64_t rows, std::int64_t width, const float* weight, const float* bias,
          float epsilon, float* y, float* mean, float* scale) {
  const float share = 1 / static_cast<float>(width);
  for (std::int64_t r = 0; r < rows; ++r, x += width, y += width) {
    RowSum sum, square;
    for_vectors(width, [&](auto d, std::int64_t i) HWY_ATTR { sum.add(d, hn::LoadU(d, x + i)); });
    const float middle = sum.total() * share;
    for_vectors(width, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto v = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, middle));
      square.add(d, hn::Mul(v, v));
    });
    const float factor = 1 / std::sqrt(square.total() * share + epsilon);
    for_vectors(width, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, middle)), hn::Set(d, factor));
      const auto shift = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + i);
      hn::StoreU(hn::MulAdd(v, hn::LoadU(d, weight + i), shift), d, y + i);
    });
    mean[r] = middle;
    scale[r] = factor;
  }
}

void norm_gradient(const float* dy, const float* x, std::int64_t rows, std::int64_t width,
                   const float* weight, const float* mean, const float* scale, const float* around, float* dx,
                   float* dweight, float* dbias) {
  const float share = 1 / static_cast<float>(width);
  for (std::int64_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
    RowSum plain, dot;
    const auto normal = [&](auto d, std::int64_t i) HWY_ATTR {
      return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean[r])), hn::Set(d, scale[r]));
    };
    for_vectors(width, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto g = hn::LoadU(d, dy + i);
      const auto n = normal(d, i);
      const auto weighted = hn::Mul(g, hn::LoadU(d, weight + i));
      plain.add(d, weighted);
      dot.add(d, hn::Mul(weighted, n));
      hn::StoreU(hn::MulAdd(g, n, hn::LoadU(d, dweight + i)), d, dweight + i);
      if (dbias != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, dbias + i), g), d, dbias + i);
    });
    const float a = plain.total() * share, b = dot.total() * share;
    for_vectors(width, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto weighted = hn::Mul(hn::LoadU(d, dy + i), hn::LoadU(d, weight + i));
      const auto centred = hn::NegMulAdd(normal(d, i), hn::Set(d, b), hn::Sub(weighted, hn::Set(d, a)));
      const auto beside = around == nullptr ? hn::Zero(d) : hn::LoadU(d, around + r * width + i);
      hn::StoreU(hn::MulAdd(centred, hn::Set(d, scale[r]), beside), d, dx + i);
    });
  }
}

constexpr float kTwice = 2 * 0.7978845608028654F;  // 2 sqrt(2 / pi)
constexpr float kCubic = 0.044715F;

// (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), from an exponential that cannot overflow.
template <class D>
HWY_INLINE hn::Vec<D> share_of(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0F);
  const auto cubed = hn::MulAdd(hn::Mul(x, x), hn::Set(d, kCubic), one);
  const auto z = hn::Mul(hn::Mul(x, cubed), hn::Set(d, kTwice));
  const auto e = hn::Exp(d, hn::Neg(hn::Abs(z)));
  const auto larger = hn::Div(one, hn::Add(one, e));
  return hn::IfThenElse(hn::Lt(z, hn::Zero(d)), hn::Mul(e, larger), larger);
}

void gelu_forward(const float* x, std::int64_t count, float* y) {
  for_vectors(count, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    hn::StoreU(hn::Mul(v, share_of(d, v)), d, y + i);
  });
}

// With s the share: d(x s)/dx = s + x s (1 - s) d(2u)/dx.
void gelu_backward(const float* x, const float* dy, std::int64_t count, float* y, float* dx) {
  for_vectors(count, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    const auto s = share_of(d, v);
    const auto result = hn::Mul(v, s);
    hn::StoreU(result, d, y + i);
    const auto slope = hn::MulAdd(hn::Mul(v, v), hn::Set(d, 3 * kCubic * kTwice), hn::Set(d, kTwice));
    const auto rest = hn::Mul(hn::Mul(result, hn::Sub(hn::Set(d, 1.0F), s)), slope);
    hn::StoreU(hn::Mul(hn::LoadU(d, dy + i), hn::Add(s, rest)), d, dx + i);
  });
}

}  // namespace
}  // namespace veche::torch_model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veche::torch_model {
namespace {

HWY_EXPORT(norm);
HWY_EXPORT(norm_gradient);
HWY_EXPORT(gelu_forward);
HWY_EXPORT(gelu_backward);

}  // namespace

void token_norm(const float* x, std::int64_t rows, std::int64_t width, const float* weight, const float* bias,
                float epsilon, float* y, float* mean, float* scale) {
  HWY_DYNAMIC_DISPATCH(norm)(x, rows, width, weight, bias, epsilon, y, mean, scale);
}

void token_norm_gradient(const float* dy, const float* x, std::int64_t rows, std::int64_t width,
                         const float* weight, const float* mean, const float* scale, const float* around,
                         float* dx, float* dweight, float* dbias) {
  HWY_DYNAMIC_DISPATCH(norm_gradient)
  (dy, x, rows, width, weight, mean, scale, around, dx, dweight, dbias);
}

void gelu(const float* x, std::int64_t count, float* y) { HWY_DYNAMIC_DISPATCH(gelu_forward)(x, count, y); }

void gelu_gradient(const float* x, const float* dy, std::int64_t count, float* y, float* dx) {
  HWY_DYNAMIC_DISPATCH(gelu_backward)(x, dy, count, y, dx);
}

}  // namespace veche::torch_model

#endif  // HWY_ONCE
