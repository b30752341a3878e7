#include <algorithm>
#include <vector>

#include "veche/model/torch/kernels/norm_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/model/torch/kernels/pool_kernels.cc"
#include "veche/base/machine/each_target.h"
//
#include "veche/model/torch/kernels/channels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veche::torch_model::HWY_NAMESPACE {
namespace {

// The four pixels of a window, and their values after norm and ReLU.
template <class D>
struct Window {
  using V = hn::Vec<D>;
  // `corner` is the first pixel; `row` and `pixel` are strides.
  HWY_INLINE Window(const float* corner, std::int64_t row, std::int64_t pixel, V scale, V shift)
      : raw{hn::LoadU(D(), corner), hn::LoadU(D(), corner + pixel), hn::LoadU(D(), corner + row),
            hn::LoadU(D(), corner + row + pixel)},
        value{hn::MulAdd(raw[0], scale, shift), hn::MulAdd(raw[1], scale, shift),
              hn::MulAdd(raw[2], scale, shift), hn::MulAdd(raw[3], scale, shift)} {}
  HWY_INLINE V largest() const { return hn::Max(hn::Max(value[0], value[1]), hn::Max(value[2], value[3])); }
  V raw[4];
  V value[4];
};

// Calls body(tag, c, x, y) for every row of windows and every vector of channels; a row stays in
// the first-level cache between vectors. x is the start of the row in the images, y in the pooled
// images.
template <class Body>
HWY_INLINE void for_window_rows(const ImageSize& size, Body body) {
  const std::int64_t row = size.width * size.channels, pooled_row = size.width / 2 * size.channels;
  for (std::int64_t n = 0; n < size.images; ++n)
    for (std::int64_t h = 0; h < size.height / 2; ++h) {
      const std::int64_t x = (n * size.height + 2 * h) * row, y = (n * (size.height / 2) + h) * pooled_row;
      const hn::ScalableTag<float> d;
      const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
      std::int64_t c = 0;
      for (; c + lanes <= size.channels; c += lanes) body(d, c, x + c, y + c);
      for (; c < size.channels; ++c) body(hn::CappedTag<float, 1>(), c, x + c, y + c);
    }
}

void pool(const float* x, const ImageSize& size, const float* scale, const float* shift, float* y) {
  const std::int64_t pixel = size.channels, row = size.width * pixel;
  for_window_rows(size, [&](auto d, std::int64_t c, std::int64_t from, std::int64_t to) HWY_ATTR {
    const auto s = hn::LoadU(d, scale + c), t = hn::LoadU(d, shift + c);
    for (std::int64_t w = 0; w < size.width / 2; ++w) {
      const Window<decltype(d)> window(x + from + 2 * w * pixel, row, pixel, s, t);
      hn::StoreU(hn::Max(window.largest(), hn::Zero(d)), d, y + to + w * pixel);
    }
  });
}

void pool_sums(const float* dy, const float* x, const ImageSize& size, const float* scale, const float* shift,
               const float* mean, float* sum, float* dot) {
  const std::int64_t pixel = size.channels, row = size.width * pixel;
  std::vector<double> plain(static_cast<std::size_t>(pixel)), product(plain.size());
  // Sums per image in single precision, then accumulates in double.
  ImageSize one = size;
  one.images = 1;
  for (std::int64_t n = 0; n < size.images; ++n) {
    std::fill_n(sum, pixel, 0.0F);
    std::fill_n(dot, pixel, 0.0F);
    const float* image = x + n * size.height * row;
    const float* gradient = dy + n * (size.height / 2) * (size.width / 2) * pixel;
    for_window_rows(one, [&](auto d, std::int64_t c, std::int64_t from, std::int64_t to) HWY_ATTR {
      const auto s = hn::LoadU(d, scale + c), t = hn::LoadU(d, shift + c), m = hn::LoadU(d, mean + c);
      auto part = hn::LoadU(d, sum + c), part_dot = hn::LoadU(d, dot + c);
      for (std::int64_t w = 0; w < size.width / 2; ++w) {
        const Window<decltype(d)> window(image + from + 2 * w * pixel, row, pixel, s, t);
        auto best = window.value[0], source = window.raw[0];
        for (int k = 1; k < 4; ++k) {
          source = hn::IfThenElse(hn::Gt(window.value[k], best), window.raw[k], source);
          best = hn::Max(window.value[k], best);
        }
        const auto g = hn::IfThenElseZero(hn::Gt(best, hn::Zero(d)), hn::LoadU(d, gradient + to + w * pixel));
        part = hn::Add(part, g);
        part_dot = hn::MulAdd(g, hn::Sub(source, m), part_dot);
      }
      hn::StoreU(part, d, sum + c);
      hn::StoreU(part_dot, d, dot + c);
    });
    for (std::int64_t c = 0; c < pixel; ++c) {
      plain[static_cast<std::size_t>(c)] += static_cast<double>(sum[c]);
      product[static_cast<std::size_t>(c)] += static_cast<double>(dot[c]);
    }
  }
  for (std::int64_t c = 0; c < pixel; ++c) {
    sum[c] = static_cast<float>(plain[static_cast<std::size_t>(c)]);
    dot[c] = static_cast<float>(product[static_cast<std::size_t>(c)]);
  }
}

// A pixel outside all windows, at the end of an odd row or column.
void combine_outside(const float* x, std::int64_t channels, const float* mean, const float* b, const float* c,
                     float* dx) {
  for (std::int64_t k = 0; k < channels; ++k) dx[k] = (x[k] - mean[k]) * b[k] + c[k];
}

void pool_combine(const float* dy, const float* x, const ImageSize& size, const float* scale,
                  const float* shift, const float* mean, const float* b, const float* c, float* dx) {
  const std::int64_t pixel = size.channels, row = size.width * pixel;
  for_window_rows(size, [&](auto d, std::int64_t k, std::int64_t from, std::int64_t to) HWY_ATTR {
    const auto s = hn::LoadU(d, scale + k), t = hn::LoadU(d, shift + k), m = hn::LoadU(d, mean + k);
    const auto slope = hn::LoadU(d, b + k), constant = hn::LoadU(d, c + k);
    for (std::int64_t w = 0; w < size.width / 2; ++w) {
      const std::int64_t corner = from + 2 * w * pixel;
      const Window<decltype(d)> window(x + corner, row, pixel, s, t);
      const auto best = window.largest();
      // The part of the gradient that the first largest pixel receives.
      auto left =
          hn::IfThenElseZero(hn::Gt(best, hn::Zero(d)), hn::Mul(hn::LoadU(d, dy + to + w * pixel), s));
      const std::int64_t place[4] = {0, pixel, row, row + pixel};
      for (int i = 0; i < 4; ++i) {
        const auto here = hn::Eq(window.value[i], best);
        const auto rest = hn::MulAdd(hn::Sub(window.raw[i], m), slope, constant);
        hn::StoreU(hn::Add(rest, hn::IfThenElseZero(here, left)), d, dx + corner + place[i]);
        left = hn::IfThenZeroElse(here, left);
      }
    }
  });
  if (size.height % 2 == 0 && size.width % 2 == 0) return;
  for (std::int64_t n = 0; n < size.images; ++n)
    for (std::int64_t h = 0; h < size.height; ++h)
      for (std::int64_t w = 0; w < size.width; ++w) {
        if (h < size.height / 2 * 2 && w < size.width / 2 * 2) continue;
        const std::int64_t place = ((n * size.height + h) * size.width + w) * pixel;
        combine_outside(x + place, pixel, mean, b, c, dx + place);
      }
}

}  // namespace
}  // namespace veche::torch_model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veche::torch_model {
namespace {

HWY_EXPORT(pool);
HWY_EXPORT(pool_sums);
HWY_EXPORT(pool_combine);

}  // namespace

void scale_relu_pool(const float* x, const ImageSize& size, const float* scale, const float* shift,
                     float* y) {
  HWY_DYNAMIC_DISPATCH(pool)(x, size, scale, shift, y);
}

void scale_relu_pool_sums(const float* dy, const float* x, const ImageSize& size, const float* scale,
                          const float* shift, const float* mean, float* sum, float* dot) {
  HWY_DYNAMIC_DISPATCH(pool_sums)(dy, x, size, scale, shift, mean, sum, dot);
}

void combine_pool(const float* dy, const float* x, const ImageSize& size, const float* scale,
                  const float* shift, const float* mean, const float* b, const float* c, float* dx) {
  HWY_DYNAMIC_DISPATCH(pool_combine)(dy, x, size, scale, shift, mean, b, c, dx);
}

}  // namespace veche::torch_model

#endif  // HWY_ONCE
