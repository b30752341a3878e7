#include "veche/base/vector_math.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "veche/base/hot.h"

namespace veche {
namespace {

constexpr std::size_t kLine = 16;  // floats in a cache line
constexpr std::size_t kAhead =
    512;  // floats; the hardware follows too few streams at once to be left alone with them

// One pass over K inputs. The loops over k have constant bounds and vanish.
template <std::size_t K>
VECHE_HOT void fused_sum(float* __restrict out, const float* const* inputs, const float* weights,
                         std::size_t n) {
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

VECHE_HOT void accumulate(float* __restrict out, const float* a, float wa, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] += wa * a[i];
}

VECHE_HOT void scale_by(float* x, float factor, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] *= factor;
}

constexpr std::size_t kLanes = 16;  // independent sums, in a fixed order: vectorised and yet repeatable

VECHE_HOT double sum_of_squares(const float* x, std::size_t n) {
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

void weighted_sum(std::span<float> out, std::span<const std::span<const float>> inputs,
                  std::span<const float> weights) {
  constexpr std::size_t kFused = 6;     // a torus has five; more come in further passes over a block
  constexpr std::size_t kBlock = 2048;  // floats: stays in the first-level cache between those passes
  using Pass = void (*)(float*, const float* const*, const float*, std::size_t);
  constexpr std::array<Pass, kFused> kPasses{fused_sum<1>, fused_sum<2>, fused_sum<3>,
                                             fused_sum<4>, fused_sum<5>, fused_sum<6>};
  const std::size_t first = std::min(inputs.size(), kFused);
  const std::size_t block = inputs.size() <= kFused ? out.size() : kBlock;
  for (std::size_t from = 0; from < out.size(); from += block) {
    const std::size_t length = std::min(block, out.size() - from);
    std::array<const float*, kFused> starts{};
    for (std::size_t k = 0; k < first; ++k) starts[k] = inputs[k].data() + from;
    kPasses[first - 1](out.data() + from, starts.data(), weights.data(), length);
    for (std::size_t k = first; k < inputs.size(); ++k)
      accumulate(out.data() + from, inputs[k].data() + from, weights[k], length);
  }
}

void add(std::span<float> into, std::span<const float> x) {
  accumulate(into.data(), x.data(), 1.0F, into.size());
}

void scale(std::span<float> x, float factor) { scale_by(x.data(), factor, x.size()); }

double squared_norm(std::span<const float> x) { return sum_of_squares(x.data(), x.size()); }

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
