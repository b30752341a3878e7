#include "veche/base/vector_math.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "veche/base/hot.h"

namespace veche {
namespace {

// Small enough for its output to stay in the first-level cache while more inputs are added to it.
constexpr std::size_t kBlock = 2048;

VECHE_HOT void sum1(float* __restrict out, const float* a, float wa, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = wa * a[i];
}

VECHE_HOT void sum2(float* __restrict out, const float* a, float wa, const float* b, float wb,
                    std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = wa * a[i] + wb * b[i];
}

VECHE_HOT void sum3(float* __restrict out, const float* a, float wa, const float* b, float wb, const float* c,
                    float wc, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = wa * a[i] + wb * b[i] + wc * c[i];
}

VECHE_HOT void sum5(float* __restrict out, const float* a, float wa, const float* b, float wb, const float* c,
                    float wc, const float* d, float wd, const float* e, float we, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = wa * a[i] + wb * b[i] + wc * c[i] + wd * d[i] + we * e[i];
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
  const std::size_t n = out.size();
  const auto in = [&](std::size_t k) { return inputs[k].data(); };
  const std::span<const float> w = weights;
  switch (inputs.size()) {
    case 1:
      return sum1(out.data(), in(0), w[0], n);
    case 2:
      return sum2(out.data(), in(0), w[0], in(1), w[1], n);
    case 3:
      return sum3(out.data(), in(0), w[0], in(1), w[1], in(2), w[2], n);
    case 5:
      return sum5(out.data(), in(0), w[0], in(1), w[1], in(2), w[2], in(3), w[3], in(4), w[4], n);
    default:
      break;
  }
  for (std::size_t from = 0; from < n; from += kBlock) {
    const std::size_t length = std::min(kBlock, n - from);
    float* block = out.data() + from;
    sum3(block, in(0) + from, w[0], in(1) + from, w[1], in(2) + from, w[2], length);
    for (std::size_t k = 3; k < inputs.size(); ++k) accumulate(block, in(k) + from, w[k], length);
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
