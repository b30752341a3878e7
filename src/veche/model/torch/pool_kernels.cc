#include <algorithm>

#include "veche/model/torch/norm_kernels.h"
#include "veche/model/torch/vectors.h"

namespace veche::torch_model {
namespace {

// The four pixels of window (h, w) of an image, as offsets from the image's first number.
struct Window {
  VECHE_INLINE Window(const ImageSize& size, std::int64_t h, std::int64_t w) {
    const std::int64_t row = size.width * size.channels;
    corner[0] = 2 * h * row + 2 * w * size.channels;
    corner[1] = corner[0] + size.channels;
    corner[2] = corner[0] + row;
    corner[3] = corner[1] + row;
  }
  std::int64_t corner[4];
};

template <class V>
VECHE_INLINE V largest(const V* value) {
  V best = value[0];
  for (int k = 1; k < 4; ++k) best = value[k] > best ? value[k] : best;
  return best;
}

template <class V>
VECHE_INLINE void window_values(const float* x, const Window& window, V scale, V shift, V* raw, V* value) {
  for (int k = 0; k < 4; ++k) {
    raw[k] = at<V>(x + window.corner[k]);
    value[k] = raw[k] * scale + shift;
  }
}

template <class V>
VECHE_INLINE void pool_step(const float* x, const Window& window, const float* scale, const float* shift,
                            float* y) {
  V raw[4], value[4];
  window_values<V>(x, window, at<V>(scale), at<V>(shift), raw, value);
  const V best = largest<V>(value);
  put<V>(y, best > 0 ? best : V{});
}

// One lane group of one image row of windows at a time, so that the sums stay in registers.
template <class V>
VECHE_INLINE void pool_sums_step(const float* dy, const float* x, const ImageSize& size, std::int64_t h,
                                 const float* scale, const float* shift, const float* mean, double* plain,
                                 double* product) {
  constexpr std::int64_t lanes = kLanesOf<V>;
  const V s = at<V>(scale), t = at<V>(shift), m = at<V>(mean);
  V sum{}, dot{};
  for (std::int64_t w = 0; w < size.width / 2; ++w) {
    V raw[4], value[4];
    window_values<V>(x, Window(size, h, w), s, t, raw, value);
    V best = value[0], source = raw[0];
    for (int k = 1; k < 4; ++k) {
      source = value[k] > best ? raw[k] : source;
      best = value[k] > best ? value[k] : best;
    }
    const V g = best > 0 ? at<V>(dy + w * size.channels) : V{};
    sum += g;
    dot += g * (source - m);
  }
  float a[lanes], b[lanes];
  put<V>(a, sum);
  put<V>(b, dot);
  for (std::int64_t i = 0; i < lanes; ++i) {
    plain[i] += a[i];
    product[i] += b[i];
  }
}

template <class V>
VECHE_INLINE void combine_pool_step(const float* dy, const float* x, const Window& window, const float* scale,
                                    const float* shift, const float* mean, const float* a, const float* b,
                                    const float* c, float* dx) {
  V raw[4], value[4];
  window_values<V>(x, window, at<V>(scale), at<V>(shift), raw, value);
  const V best = largest<V>(value);
  V left = best > 0 ? at<V>(dy) * at<V>(a) : V{};  // what the first largest pixel takes
  for (int k = 0; k < 4; ++k) {
    put<V>(dx + window.corner[k],
           (raw[k] - at<V>(mean)) * at<V>(b) + at<V>(c) + (value[k] == best ? left : V{}));
    left = value[k] == best ? V{} : left;
  }
}

// A pixel outside all windows, at the end of an odd row or column.
VECHE_INLINE void combine_outside(const float* x, std::int64_t channels, const float* mean, const float* b,
                                  const float* c, float* dx) {
  for (std::int64_t k = 0; k < channels; ++k) dx[k] = (x[k] - mean[k]) * b[k] + c[k];
}

}  // namespace

VECHE_MULTIVERSION
void scale_relu_pool(const float* x, const ImageSize& size, const float* scale, const float* shift,
                     float* y) {
  for (std::int64_t n = 0; n < size.images; ++n, x += size.height * size.width * size.channels)
    for (std::int64_t h = 0; h < size.height / 2; ++h)
      for (std::int64_t w = 0; w < size.width / 2; ++w, y += size.channels) {
        const Window window(size, h, w);
        std::int64_t c = 0;
        for (; c + kLanes <= size.channels; c += kLanes)
          pool_step<Vector>(x + c, window, scale + c, shift + c, y + c);
        for (; c < size.channels; ++c) pool_step<float>(x + c, window, scale + c, shift + c, y + c);
      }
}

VECHE_MULTIVERSION
void scale_relu_pool_sums(const float* dy, const float* x, const ImageSize& size, const float* scale,
                          const float* shift, const float* mean, float* sum, float* dot) {
  const std::int64_t image = size.height * size.width * size.channels;
  const std::int64_t pooled_row = size.width / 2 * size.channels;
  for (std::int64_t c = 0; c < size.channels;) {
    const bool whole = c + kLanes <= size.channels;
    const std::int64_t lanes = whole ? kLanes : 1;
    double plain[kLanes] = {}, product[kLanes] = {};
    const float* gradient = dy + c;
    for (std::int64_t n = 0; n < size.images; ++n)
      for (std::int64_t h = 0; h < size.height / 2; ++h, gradient += pooled_row) {
        if (whole)
          pool_sums_step<Vector>(gradient, x + n * image + c, size, h, scale + c, shift + c, mean + c, plain,
                                 product);
        else
          pool_sums_step<float>(gradient, x + n * image + c, size, h, scale + c, shift + c, mean + c, plain,
                                product);
      }
    for (std::int64_t i = 0; i < lanes; ++i) {
      sum[c + i] = static_cast<float>(plain[i]);
      dot[c + i] = static_cast<float>(product[i]);
    }
    c += lanes;
  }
}

VECHE_MULTIVERSION
void combine_pool(const float* dy, const float* x, const ImageSize& size, const float* scale,
                  const float* shift, const float* mean, const float* a, const float* b, const float* c,
                  float* dx) {
  const std::int64_t image = size.height * size.width * size.channels;
  for (std::int64_t n = 0; n < size.images; ++n, x += image, dx += image) {
    for (std::int64_t h = 0; h < size.height / 2; ++h)
      for (std::int64_t w = 0; w < size.width / 2; ++w, dy += size.channels) {
        const Window window(size, h, w);
        std::int64_t k = 0;
        for (; k + kLanes <= size.channels; k += kLanes)
          combine_pool_step<Vector>(dy + k, x + k, window, scale + k, shift + k, mean + k, a + k, b + k,
                                    c + k, dx + k);
        for (; k < size.channels; ++k)
          combine_pool_step<float>(dy + k, x + k, window, scale + k, shift + k, mean + k, a + k, b + k, c + k,
                                   dx + k);
      }
    for (std::int64_t h = 0; h < size.height; ++h)
      for (std::int64_t w = 0; w < size.width; ++w) {
        if (h < size.height / 2 * 2 && w < size.width / 2 * 2) continue;
        const std::int64_t pixel = (h * size.width + w) * size.channels;
        combine_outside(x + pixel, size.channels, mean, b, c, dx + pixel);
      }
  }
}

}  // namespace veche::torch_model
