#include "veche/vector_math.h"

#include <algorithm>
#include <array>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/base/vector_math.cc"
#include "veche/base/machine/each_target.h"

// Compiled once: visible to the code of every instruction set.
#ifndef VECHE_VECTOR_MATH_ONCE
#define VECHE_VECTOR_MATH_ONCE
namespace veche {
namespace {

constexpr std::size_t kFused = 6;  // a torus row has five entries; more take further passes over a block
// More vectors at once would collide in the same few cache lines.
constexpr std::size_t kAtOnce = 4;

}  // namespace
}  // namespace veche
#endif

HWY_BEFORE_NAMESPACE();
namespace veche::HWY_NAMESPACE {
namespace {

constexpr std::size_t kLine = 16;    // floats in a cache line
constexpr std::size_t kAhead = 512;  // floats; prefetch by hand, since the hardware follows too few streams

// One pass over K inputs. The loops over k have constant bounds and vanish.
template <std::size_t K>
void fused_sum_of(float* __restrict out, const float* const* inputs, const float* weights, std::size_t n) {
  std::array<const float*, K> in;
  std::array<float, K> w;
  for (std::size_t k = 0; k < K; ++k) {
    in[k] = inputs[k];
    w[k] = weights[k];
  }
  std::size_t i = 0;
  for (; i + kLine <= n; i += kLine) {
    for (std::size_t k = 0; k < K; ++k) __builtin_prefetch(in[k] + i + kAhead);
    __builtin_prefetch(out + i + kAhead, 1);
    for (std::size_t j = i; j < i + kLine; ++j) {
      float sum = w[0] * in[0][j];
      for (std::size_t k = 1; k < K; ++k) sum += w[k] * in[k][j];
      out[j] = sum;
    }
  }
  for (; i < n; ++i) {
    float sum = w[0] * in[0][i];
    for (std::size_t k = 1; k < K; ++k) sum += w[k] * in[k][i];
    out[i] = sum;
  }
}

// Writes the sum of K vectors into each of them, in one pass.
template <std::size_t K>
void fused_sum_everywhere_of(float* const* vectors, std::size_t n) {
  std::array<float*, K> v;
  for (std::size_t k = 0; k < K; ++k) v[k] = vectors[k];
  std::size_t i = 0;
  for (; i + kLine <= n; i += kLine) {
    std::array<float, kLine> sum;
    for (std::size_t j = 0; j < kLine; ++j) sum[j] = v[0][i + j];
    for (std::size_t k = 1; k < K; ++k)
      for (std::size_t j = 0; j < kLine; ++j) sum[j] += v[k][i + j];
    for (std::size_t k = 0; k < K; ++k)
      for (std::size_t j = 0; j < kLine; ++j) v[k][i + j] = sum[j];
  }
  for (; i < n; ++i) {
    float sum = v[0][i];
    for (std::size_t k = 1; k < K; ++k) sum += v[k][i];
    for (std::size_t k = 0; k < K; ++k) v[k][i] = sum;
  }
}

void fused_sum(std::size_t count, float* out, const float* const* inputs, const float* weights,
               std::size_t n) {
  using Pass = void (*)(float*, const float* const*, const float*, std::size_t);
  constexpr Pass kPasses[kFused] = {fused_sum_of<1>, fused_sum_of<2>, fused_sum_of<3>,
                                    fused_sum_of<4>, fused_sum_of<5>, fused_sum_of<6>};
  kPasses[count - 1](out, inputs, weights, n);
}

void fused_sum_everywhere(std::size_t count, float* const* vectors, std::size_t n) {
  using Pass = void (*)(float* const*, std::size_t);
  constexpr Pass kPasses[kAtOnce] = {fused_sum_everywhere_of<1>, fused_sum_everywhere_of<2>,
                                     fused_sum_everywhere_of<3>, fused_sum_everywhere_of<4>};
  kPasses[count - 1](vectors, n);
}

void accumulate(float* __restrict out, const float* a, float wa, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] += wa * a[i];
}

void add_four(float* __restrict out, const float* const* in, std::size_t n) {
  const float* const a = in[0];
  const float* const b = in[1];
  const float* const c = in[2];
  const float* const d = in[3];
  for (std::size_t i = 0; i < n; ++i) out[i] = out[i] + a[i] + b[i] + c[i] + d[i];
}

void move_towards(float* __restrict out, const float* x, float part, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] += part * (x[i] - out[i]);
}

void scale_by(float* x, float factor, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] *= factor;
}

constexpr std::size_t kLanes = 16;  // independent partial sums in a fixed order: vectorised yet repeatable

double sum_of_squares(const float* x, std::size_t n) {
  std::array<double, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += static_cast<double>(x[i + lane]) * static_cast<double>(x[i + lane]);
  double total = 0;
  for (const double sum : sums) total += sum;
  for (; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

}  // namespace
}  // namespace veche::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veche {
namespace {

HWY_EXPORT(fused_sum);
HWY_EXPORT(fused_sum_everywhere);
HWY_EXPORT(accumulate);
HWY_EXPORT(add_four);
HWY_EXPORT(move_towards);
HWY_EXPORT(scale_by);
HWY_EXPORT(sum_of_squares);

}  // namespace

void weighted_sum(std::span<float> out, std::span<const std::span<const float>> inputs,
                  std::span<const float> weights) {
  constexpr std::size_t kBlock = 2048;  // floats; a block stays in the first-level cache between passes
  const std::size_t first = std::min(inputs.size(), kFused);
  const std::size_t block = inputs.size() <= kFused ? out.size() : kBlock;
  for (std::size_t from = 0; from < out.size(); from += block) {
    const std::size_t length = std::min(block, out.size() - from);
    std::array<const float*, kFused> starts{};
    for (std::size_t k = 0; k < first; ++k) starts[k] = inputs[k].data() + from;
    HWY_DYNAMIC_DISPATCH(fused_sum)(first, out.data() + from, starts.data(), weights.data(), length);
    for (std::size_t k = first; k < inputs.size(); ++k)
      HWY_DYNAMIC_DISPATCH(accumulate)(out.data() + from, inputs[k].data() + from, weights[k], length);
  }
}

namespace {

// Floats. A chunk of many vectors stays in the first-level cache while it is summed and written.
constexpr std::size_t kPiece = 512;
// Sums [from, from + n) of all vectors.
void sum_piece(float* out, std::span<const std::span<float>> vectors, std::size_t from, std::size_t n) {
  constexpr std::array<float, kAtOnce> kOnes{1, 1, 1, 1};
  std::array<const float*, kAtOnce> starts{};
  const auto next = [&](std::size_t k) {
    const std::size_t many = std::min(kAtOnce, vectors.size() - k);
    for (std::size_t i = 0; i < many; ++i) starts[i] = vectors[k + i].data() + from;
    return many;
  };
  std::size_t k = next(0);
  HWY_DYNAMIC_DISPATCH(fused_sum)(k, out, starts.data(), kOnes.data(), n);
  for (; k + kAtOnce <= vectors.size(); k += kAtOnce) {
    next(k);
    HWY_DYNAMIC_DISPATCH(add_four)(out, starts.data(), n);
  }
  for (; k < vectors.size(); ++k) HWY_DYNAMIC_DISPATCH(accumulate)(out, vectors[k].data() + from, 1.0F, n);
}

}  // namespace

void sum(std::span<float> out, std::span<const std::span<float>> vectors) {
  for (std::size_t from = 0; from < out.size(); from += kPiece)
    sum_piece(out.data() + from, vectors, from, std::min(kPiece, out.size() - from));
}

void sum_everywhere(std::span<const std::span<float>> vectors) {
  const std::size_t length = vectors.front().size();
  if (vectors.size() <= kAtOnce) {
    std::array<float*, kAtOnce> starts{};
    for (std::size_t k = 0; k < vectors.size(); ++k) starts[k] = vectors[k].data();
    return HWY_DYNAMIC_DISPATCH(fused_sum_everywhere)(vectors.size(), starts.data(), length);
  }
  std::array<float, kPiece> total;
  for (std::size_t from = 0; from < length; from += kPiece) {
    const std::size_t n = std::min(kPiece, length - from);
    sum_piece(total.data(), vectors, from, n);
    for (const std::span<float>& vector : vectors) std::copy_n(total.data(), n, vector.data() + from);
  }
}

void add(std::span<float> into, std::span<const float> x) {
  HWY_DYNAMIC_DISPATCH(accumulate)(into.data(), x.data(), 1.0F, into.size());
}

void scale(std::span<float> x, float factor) { HWY_DYNAMIC_DISPATCH(scale_by)(x.data(), factor, x.size()); }

void ModelAverage::add(std::span<const float> model) {
  if (++count_ == 1) {
    std::ranges::copy(model, out_.begin());
    return;
  }
  HWY_DYNAMIC_DISPATCH(move_towards)
  (out_.data(), model.data(), 1.0F / static_cast<float>(count_), out_.size());
}

void ModelAverage::finish() { count_ = 0; }

double squared_norm(std::span<const float> x) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares)(x.data(), x.size());
}

Distance distance(std::span<const float> x, std::span<const float> y) {
  Distance result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    result.l1 += difference;
    result.l2_squared += difference * difference;
    result.linf = std::max(result.linf, difference);
  }
  return result;
}

}  // namespace veche

#endif  // HWY_ONCE
