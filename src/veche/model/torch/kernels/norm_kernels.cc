#include "veche/model/torch/kernels/norm_kernels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/model/torch/kernels/norm_kernels.cc"
#include "veche/base/machine/each_target.h"
//
#include "veche/model/torch/kernels/channels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veche::torch_model::HWY_NAMESPACE {
namespace {

// Rows summed in single precision before accumulation in double, which limits the rounding of long
// sums.
constexpr std::int64_t kChunk = 256;

void statistics(const float* x, std::int64_t rows, std::int64_t channels, float* mean, float* variance) {
  for_channels(channels, [&](auto d, auto parts, std::int64_t c) HWY_ATTR {
    using G = Group<decltype(d), parts.value>;
    constexpr int kChains = 4 / parts.value;  // independent sums hide the latency of additions
    const float* from = x + c;
    G origin;  // sums of differences from one element lose no digits to a large mean
    origin.load(from);
    double plain[G::kWidth] = {}, square[G::kWidth] = {};
    for (std::int64_t start = 0; start < rows; start += kChunk) {
      const std::int64_t end = std::min(rows, start + kChunk);
      G sum[kChains], dot[kChains];
      for (int i = 0; i < kChains; ++i) {
        sum[i].zero();
        dot[i].zero();
      }
      const auto add = [&](std::int64_t r, int i) HWY_ATTR {
        for (int p = 0; p < parts.value; ++p) {
          const auto v = hn::Sub(hn::LoadU(d, from + r * channels + p * G::kLanes), origin.v[p]);
          sum[i].v[p] = hn::Add(sum[i].v[p], v);
          dot[i].v[p] = hn::MulAdd(v, v, dot[i].v[p]);
        }
      };
      std::int64_t r = start;
      for (; r + kChains <= end; r += kChains)
        for (int i = 0; i < kChains; ++i) add(r + i, i);
      for (; r < end; ++r) add(r, 0);
      for (int i = 0; i < kChains; ++i) {
        sum[i].add_to(plain);
        dot[i].add_to(square);
      }
    }
    const auto n = static_cast<double>(rows);
    for (std::int64_t i = 0; i < G::kWidth; ++i) {
      const double offset = plain[i] / n;
      mean[c + i] = static_cast<float>(static_cast<double>(from[i]) + offset);
      variance[c + i] = static_cast<float>(std::max(0.0, square[i] / n - offset * offset));
    }
  });
}

// y[index] = change(tag, index, channel, x[index]), vectorised.
template <class Change>
HWY_INLINE void map(std::int64_t rows, std::int64_t channels, float* y, Change change) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = r * channels;
    std::int64_t c = 0;
    for (; c + lanes <= channels; c += lanes) hn::StoreU(change(d, row + c, c), d, y + row + c);
    const hn::CappedTag<float, 1> one;
    for (; c < channels; ++c) hn::StoreU(change(one, row + c, c), one, y + row + c);
  }
}

// Per channel, the sums of g and of g * (x - mean), with g = gradient(tag, index, channel, x).
template <class Gradient>
HWY_INLINE void sums(const float* x, std::int64_t rows, std::int64_t channels, const float* mean, float* sum,
                     float* dot, Gradient gradient) {
  for_channels(channels, [&](auto d, auto parts, std::int64_t c) HWY_ATTR {
    using G = Group<decltype(d), parts.value>;
    double plain[G::kWidth] = {}, product[G::kWidth] = {};
    for (std::int64_t start = 0; start < rows; start += kChunk) {
      const std::int64_t end = std::min(rows, start + kChunk);
      G part, part_dot;
      part.zero();
      part_dot.zero();
      for (std::int64_t r = start; r < end; ++r)
        for (int p = 0; p < parts.value; ++p) {
          const std::int64_t channel = c + p * G::kLanes, i = r * channels + channel;
          const auto v = hn::LoadU(d, x + i);
          const auto g = gradient(d, i, channel, v);
          part.v[p] = hn::Add(part.v[p], g);
          part_dot.v[p] = hn::MulAdd(g, hn::Sub(v, hn::LoadU(d, mean + channel)), part_dot.v[p]);
        }
      part.add_to(plain);
      part_dot.add_to(product);
    }
    for (std::int64_t i = 0; i < G::kWidth; ++i) {
      sum[c + i] = static_cast<float>(plain[i]);
      dot[c + i] = static_cast<float>(product[i]);
    }
  });
}

template <class D>
HWY_INLINE hn::Vec<D> scaled(D d, hn::Vec<D> x, const float* scale, const float* shift) {
  return hn::MulAdd(x, hn::LoadU(d, scale), hn::LoadU(d, shift));
}

// g * a + (x - mean) * b + c
template <class D>
HWY_INLINE hn::Vec<D> combined(D d, hn::Vec<D> g, hn::Vec<D> x, const float* mean, const float* a,
                               const float* b, const float* c) {
  const auto centred = hn::Sub(x, hn::LoadU(d, mean));
  return hn::MulAdd(g, hn::LoadU(d, a), hn::MulAdd(centred, hn::LoadU(d, b), hn::LoadU(d, c)));
}

void norm_relu(const float* x, const float* residual, std::int64_t rows, std::int64_t channels,
               const float* scale, const float* shift, float* y) {
  if (residual == nullptr)
    return map(rows, channels, y, [&](auto d, std::int64_t i, std::int64_t c) HWY_ATTR {
      return hn::Max(scaled(d, hn::LoadU(d, x + i), scale + c, shift + c), hn::Zero(d));
    });
  map(rows, channels, y, [&](auto d, std::int64_t i, std::int64_t c) HWY_ATTR {
    const auto value = scaled(d, hn::LoadU(d, x + i), scale + c, shift + c);
    return hn::Max(hn::Add(value, hn::LoadU(d, residual + i)), hn::Zero(d));
  });
}

void norm_relu_sums(const float* dy, const float* x, std::int64_t rows, std::int64_t channels,
                    const float* scale, const float* shift, const float* mean, float* sum, float* dot) {
  sums(x, rows, channels, mean, sum, dot, [&](auto d, std::int64_t i, std::int64_t c, auto v) HWY_ATTR {
    return hn::IfThenElseZero(hn::Gt(scaled(d, v, scale + c, shift + c), hn::Zero(d)), hn::LoadU(d, dy + i));
  });
}

void norm_relu_combine(const float* dy, const float* x, std::int64_t rows, std::int64_t channels,
                       const float* scale, const float* shift, const float* mean, const float* b,
                       const float* c, float* dx) {
  map(rows, channels, dx, [&](auto d, std::int64_t i, std::int64_t k) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    const auto through = hn::Gt(scaled(d, v, scale + k, shift + k), hn::Zero(d));
    const auto g = hn::IfThenElseZero(through, hn::LoadU(d, dy + i));
    return combined(d, g, v, mean + k, scale + k, b + k, c + k);
  });
}

void norm_residual_relu_sums(const float* dy, const float* y, const float* x, std::int64_t rows,
                             std::int64_t channels, const float* mean, float* g, float* sum, float* dot) {
  sums(x, rows, channels, mean, sum, dot, [&](auto d, std::int64_t i, std::int64_t, auto) HWY_ATTR {
    const auto through = hn::Gt(hn::LoadU(d, y + i), hn::Zero(d));
    const auto value = hn::IfThenElseZero(through, hn::LoadU(d, dy + i));
    hn::StoreU(value, d, g + i);
    return value;
  });
}

void norm_combine(const float* g, const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
                  const float* a, const float* b, const float* c, float* dx) {
  map(rows, channels, dx, [&](auto d, std::int64_t i, std::int64_t k) HWY_ATTR {
    return combined(d, hn::LoadU(d, g + i), hn::LoadU(d, x + i), mean + k, a + k, b + k, c + k);
  });
}

void norm_scale(const float* x, std::int64_t rows, std::int64_t channels, const float* scale,
                const float* shift, float* y) {
  map(rows, channels, y, [&](auto d, std::int64_t i, std::int64_t c) HWY_ATTR {
    return scaled(d, hn::LoadU(d, x + i), scale + c, shift + c);
  });
}

void norm_scale_sums(const float* dy, const float* x, std::int64_t rows, std::int64_t channels,
                     const float* mean, float* sum, float* dot) {
  sums(x, rows, channels, mean, sum, dot,
       [&](auto d, std::int64_t i, std::int64_t, auto) HWY_ATTR { return hn::LoadU(d, dy + i); });
}

}  // namespace
}  // namespace veche::torch_model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veche::torch_model {
namespace {

HWY_EXPORT(statistics);
HWY_EXPORT(norm_relu);
HWY_EXPORT(norm_relu_sums);
HWY_EXPORT(norm_relu_combine);
HWY_EXPORT(norm_residual_relu_sums);
HWY_EXPORT(norm_combine);
HWY_EXPORT(norm_scale);
HWY_EXPORT(norm_scale_sums);

}  // namespace

void channel_statistics(const float* x, std::int64_t rows, std::int64_t channels, float* mean,
                        float* variance) {
  HWY_DYNAMIC_DISPATCH(statistics)(x, rows, channels, mean, variance);
}

void scale_relu(const float* x, const float* residual, std::int64_t rows, std::int64_t channels,
                const float* scale, const float* shift, float* y) {
  HWY_DYNAMIC_DISPATCH(norm_relu)(x, residual, rows, channels, scale, shift, y);
}

void scale_relu_sums(const float* dy, const float* x, std::int64_t rows, std::int64_t channels,
                     const float* scale, const float* shift, const float* mean, float* sum, float* dot) {
  HWY_DYNAMIC_DISPATCH(norm_relu_sums)(dy, x, rows, channels, scale, shift, mean, sum, dot);
}

void combine_relu(const float* dy, const float* x, std::int64_t rows, std::int64_t channels,
                  const float* scale, const float* shift, const float* mean, const float* b, const float* c,
                  float* dx) {
  HWY_DYNAMIC_DISPATCH(norm_relu_combine)(dy, x, rows, channels, scale, shift, mean, b, c, dx);
}

void residual_relu_sums(const float* dy, const float* y, const float* x, std::int64_t rows,
                        std::int64_t channels, const float* mean, float* g, float* sum, float* dot) {
  HWY_DYNAMIC_DISPATCH(norm_residual_relu_sums)(dy, y, x, rows, channels, mean, g, sum, dot);
}

void combine(const float* g, const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
             const float* a, const float* b, const float* c, float* dx) {
  HWY_DYNAMIC_DISPATCH(norm_combine)(g, x, rows, channels, mean, a, b, c, dx);
}

void scale(const float* x, std::int64_t rows, std::int64_t channels, const float* scale, const float* shift,
           float* y) {
  HWY_DYNAMIC_DISPATCH(norm_scale)(x, rows, channels, scale, shift, y);
}

void scale_sums(const float* dy, const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
                float* sum, float* dot) {
  HWY_DYNAMIC_DISPATCH(norm_scale_sums)(dy, x, rows, channels, mean, sum, dot);
}

}  // namespace veche::torch_model

#endif  // HWY_ONCE
