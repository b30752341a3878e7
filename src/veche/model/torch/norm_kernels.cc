#include "veche/model/torch/norm_kernels.h"

#include <algorithm>

#include "veche/model/torch/vectors.h"

namespace veche::torch_model {
namespace {

template <class V>
VECHE_INLINE V positive(V value) {
  return value > 0 ? value : V{};
}

// Rows summed in single precision before the sum is moved on: keeps the rounding of long sums small.
constexpr std::int64_t kChunk = 256;

template <class V>
struct Sums {
  V plain{};
  V dot{};
};

// Adds the lanes of a chunk to totals in double precision.
template <class V>
VECHE_INLINE void add_up(const Sums<V>& part, double* plain, double* dot) {
  constexpr std::int64_t lanes = kLanesOf<V>;
  float a[lanes], b[lanes];
  put<V>(a, part.plain);
  put<V>(b, part.dot);
  for (std::int64_t i = 0; i < lanes; ++i) {
    plain[i] += a[i];
    dot[i] += b[i];
  }
}

template <class V>
VECHE_INLINE void statistics_step(const float* x, std::int64_t rows, std::int64_t channels, float* mean,
                                  float* variance) {
  constexpr std::int64_t lanes = kLanesOf<V>;
  const V origin = at<V>(x);  // sums of differences from any member lose no digits to a large mean
  double plain[lanes] = {}, square[lanes] = {};
  for (std::int64_t start = 0; start < rows; start += kChunk) {
    const std::int64_t end = std::min(rows, start + kChunk);
    Sums<V> part[4];
    std::int64_t r = start;
    for (; r + 4 <= end; r += 4)
      for (int i = 0; i < 4; ++i) {
        const V d = at<V>(x + (r + i) * channels) - origin;
        part[i].plain += d;
        part[i].dot += d * d;
      }
    for (; r < end; ++r) {
      const V d = at<V>(x + r * channels) - origin;
      part[0].plain += d;
      part[0].dot += d * d;
    }
    for (const auto& p : part) add_up<V>(p, plain, square);
  }
  const auto n = static_cast<double>(rows);
  for (std::int64_t i = 0; i < lanes; ++i) {
    const double offset = plain[i] / n;
    mean[i] = static_cast<float>(x[i] + offset);
    variance[i] = static_cast<float>(std::max(0.0, square[i] / n - offset * offset));
  }
}

// For `Parts` neighbouring groups of channels at once, so that a row is read from end to end. Without `Relu`
// y and g are not touched.
template <class V, std::int64_t Parts, bool Relu = true>
VECHE_INLINE void sums_step(const float* dy, const float* y, const float* x, std::int64_t rows,
                            std::int64_t channels, const float* mean, float* g, float* sum, float* dot) {
  constexpr std::int64_t lanes = kLanesOf<V>;
  double plain[Parts * lanes] = {}, product[Parts * lanes] = {};
  for (std::int64_t start = 0; start < rows; start += kChunk) {
    const std::int64_t end = std::min(rows, start + kChunk);
    Sums<V> part[Parts];
    for (std::int64_t r = start; r < end; ++r)
      for (std::int64_t k = 0; k < Parts; ++k) {
        const std::int64_t i = r * channels + k * lanes;
        V value = at<V>(dy + i);
        if constexpr (Relu) {
          value = at<V>(y + i) > 0 ? value : V{};
          put<V>(g + i, value);
        }
        part[k].plain += value;
        part[k].dot += value * (at<V>(x + i) - at<V>(mean + k * lanes));
      }
    for (std::int64_t k = 0; k < Parts; ++k) add_up<V>(part[k], plain + k * lanes, product + k * lanes);
  }
  for (std::int64_t i = 0; i < Parts * lanes; ++i) {
    sum[i] = static_cast<float>(plain[i]);
    dot[i] = static_cast<float>(product[i]);
  }
}

}  // namespace

VECHE_MULTIVERSION
void channel_statistics(const float* x, std::int64_t rows, std::int64_t channels, float* mean,
                        float* variance) {
  std::int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes)
    statistics_step<Vector>(x + c, rows, channels, mean + c, variance + c);
  for (; c < channels; ++c) statistics_step<float>(x + c, rows, channels, mean + c, variance + c);
}

VECHE_MULTIVERSION
void scale_relu(const float* x, const float* residual, std::int64_t rows, std::int64_t channels,
                const float* scale, const float* shift, float* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = r * channels;
    std::int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      Vector value = at<Vector>(x + row + c) * at<Vector>(scale + c) + at<Vector>(shift + c);
      if (residual != nullptr) value += at<Vector>(residual + row + c);
      put<Vector>(y + row + c, positive<Vector>(value));
    }
    for (; c < channels; ++c)
      y[row + c] = positive(x[row + c] * scale[c] + shift[c] + (residual != nullptr ? residual[row + c] : 0));
  }
}

VECHE_MULTIVERSION
void scale_relu_sums(const float* dy, const float* y, const float* x, std::int64_t rows,
                     std::int64_t channels, const float* mean, float* g, float* sum, float* dot) {
  std::int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes)
    sums_step<Vector, 4>(dy + c, y + c, x + c, rows, channels, mean + c, g + c, sum + c, dot + c);
  for (; c + 2 * kLanes <= channels; c += 2 * kLanes)
    sums_step<Vector, 2>(dy + c, y + c, x + c, rows, channels, mean + c, g + c, sum + c, dot + c);
  for (; c + kLanes <= channels; c += kLanes)
    sums_step<Vector, 1>(dy + c, y + c, x + c, rows, channels, mean + c, g + c, sum + c, dot + c);
  for (; c < channels; ++c)
    sums_step<float, 1>(dy + c, y + c, x + c, rows, channels, mean + c, g + c, sum + c, dot + c);
}

VECHE_MULTIVERSION
void scale(const float* x, std::int64_t rows, std::int64_t channels, const float* scale, const float* shift,
           float* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = r * channels;
    std::int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes)
      put<Vector>(y + row + c, at<Vector>(x + row + c) * at<Vector>(scale + c) + at<Vector>(shift + c));
    for (; c < channels; ++c) y[row + c] = x[row + c] * scale[c] + shift[c];
  }
}

VECHE_MULTIVERSION
void scale_sums(const float* dy, const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
                float* sum, float* dot) {
  std::int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes)
    sums_step<Vector, 4, false>(dy + c, nullptr, x + c, rows, channels, mean + c, nullptr, sum + c, dot + c);
  for (; c + kLanes <= channels; c += kLanes)
    sums_step<Vector, 1, false>(dy + c, nullptr, x + c, rows, channels, mean + c, nullptr, sum + c, dot + c);
  for (; c < channels; ++c)
    sums_step<float, 1, false>(dy + c, nullptr, x + c, rows, channels, mean + c, nullptr, sum + c, dot + c);
}

VECHE_MULTIVERSION
void combine(const float* g, const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
             const float* a, const float* b, const float* c, float* dx) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = r * channels;
    std::int64_t k = 0;
    for (; k + kLanes <= channels; k += kLanes)
      put<Vector>(dx + row + k, at<Vector>(g + row + k) * at<Vector>(a + k) +
                                    (at<Vector>(x + row + k) - at<Vector>(mean + k)) * at<Vector>(b + k) +
                                    at<Vector>(c + k));
    for (; k < channels; ++k) dx[row + k] = g[row + k] * a[k] + (x[row + k] - mean[k]) * b[k] + c[k];
  }
}

}  // namespace veche::torch_model
