// Long for a reason: Highway compiles this file once per instruction set, and transforms, products
// and the loops around them must be inlined into each other, so they stay in one file.

#include "veche/model/torch/kernels/winograd.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/model/torch/kernels/winograd.cc"
#include "veche/base/machine/each_target.h"
//
#include "veche/model/torch/kernels/multiply-inl.h"

#ifndef VECHE_WINOGRAD_ONCE
#define VECHE_WINOGRAD_ONCE
namespace veche::torch_model {
namespace {

constexpr std::int64_t kTile = 4;   // side of an output tile
constexpr std::int64_t kPatch = 6;  // side of the input patch of a tile
constexpr std::int64_t kPoints = 36;
constexpr std::int64_t kTaps = 9;
constexpr std::int64_t kBlock = 64;   // tiles at a time: their transforms stay in the caches
constexpr std::int64_t kFilters = 8;  // filters at a time for gradients, if all tiles form one block

// Tiles over images of a size, in order.
struct Tiles {
  Tiles(std::int64_t images, std::int64_t height, std::int64_t width)
      : across((width + kTile - 1) / kTile),
        down((height + kTile - 1) / kTile),
        count(images * across * down) {}
  std::int64_t image(std::int64_t tile) const { return tile / (across * down); }
  std::int64_t top(std::int64_t tile) const { return tile / across % down * kTile; }
  std::int64_t left(std::int64_t tile) const { return tile % across * kTile; }
  std::int64_t across, down, count;
};

// Channels-last images.
struct Images {
  std::int64_t count, height, width, channels;
};

// A few filters if all tiles form one block, so that their sums stay in the caches; otherwise all,
// since a block is transformed once.
std::int64_t filters_at_a_time(const WinogradSize& size) {
  const Tiles tiles(size.images, size.output_height(), size.output_width());
  return tiles.count <= kBlock ? kFilters : size.out;
}

}  // namespace
}  // namespace veche::torch_model
#endif

HWY_BEFORE_NAMESPACE();
namespace veche::torch_model::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr std::int64_t kLanes = hn::MaxLanes(D());

HWY_INLINE V times(float factor, V v) { return hn::Mul(hn::Set(D(), factor), v); }
HWY_INLINE V plus(V sum, float factor, V v) { return hn::MulAdd(hn::Set(D(), factor), v, sum); }

// One-dimensional transforms. `step` is the stride of input and output.

// Input patch: B^T.
HWY_INLINE void of_patch(const V* d, V* t, int step) {
  const V d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
  const V odd = hn::Sub(d3, d1), even = hn::Sub(d4, d2);
  t[0] = plus(plus(d4, -5, d2), 4, d0);
  t[step] = plus(hn::Add(d3, d4), -4, hn::Add(d1, d2));
  t[2 * step] = plus(hn::Sub(d4, d3), 4, hn::Sub(d1, d2));
  t[3 * step] = plus(even, 2, odd);
  t[4 * step] = plus(even, -2, odd);
  t[5 * step] = plus(plus(d5, -5, d3), 4, d1);
}

// Products to results: A^T.
HWY_INLINE void to_tile(const V* m, V* y, int step) {
  const V a = hn::Add(m[step], m[2 * step]), b = hn::Sub(m[step], m[2 * step]);
  const V c = hn::Add(m[3 * step], m[4 * step]), e = hn::Sub(m[3 * step], m[4 * step]);
  const V m0 = m[0], m5 = m[5 * step];
  y[0] = hn::Add(m0, hn::Add(a, c));
  y[step] = plus(b, 2, e);
  y[2 * step] = plus(a, 4, c);
  y[3 * step] = plus(hn::Add(b, m5), 8, e);
}

// Gradient of a tile: A.
HWY_INLINE void of_tile(const V* y, V* r, int step) {
  const V y0 = y[0], y1 = y[step], y2 = y[2 * step], y3 = y[3 * step];
  const V even = hn::Add(y0, y2), odd = hn::Add(y1, y3);
  const V even4 = plus(y0, 4, y2), odd4 = plus(times(2, y1), 8, y3);
  r[0] = y0;
  r[step] = hn::Add(even, odd);
  r[2 * step] = hn::Sub(even, odd);
  r[3 * step] = hn::Add(even4, odd4);
  r[4 * step] = hn::Sub(even4, odd4);
  r[5 * step] = y3;
}

// Weights: G.
HWY_INLINE void of_taps(const V* g, V* u, int step) {
  const V g0 = g[0], g1 = g[step], g2 = g[2 * step];
  const V ends = times(-1.0F / 6, hn::Add(g0, g2)), outer = plus(times(1.0F / 24, g0), 1.0F / 6, g2);
  u[0] = times(1.0F / 4, g0);
  u[step] = plus(ends, -1.0F / 6, g1);
  u[2 * step] = plus(ends, 1.0F / 6, g1);
  u[3 * step] = plus(outer, 1.0F / 12, g1);
  u[4 * step] = plus(outer, -1.0F / 12, g1);
  u[5 * step] = g2;
}

// Sums of products to the gradient of the weights: G^T.
HWY_INLINE void to_taps(const V* u, V* g, int step) {
  const V a = hn::Add(u[step], u[2 * step]), b = hn::Sub(u[2 * step], u[step]);
  const V c = hn::Add(u[3 * step], u[4 * step]), e = hn::Sub(u[3 * step], u[4 * step]);
  const V u0 = u[0], u5 = u[5 * step];
  g[0] = plus(plus(times(1.0F / 4, u0), -1.0F / 6, a), 1.0F / 24, c);
  g[step] = plus(times(1.0F / 6, b), 1.0F / 12, e);
  g[2 * step] = plus(plus(u5, -1.0F / 6, a), 1.0F / 6, c);
}

// Transforms both dimensions: rows of `width` values become `Points` rows, then columns. `all` has
// kPatch columns.
template <class Transform>
HWY_INLINE void in_both(V* all, int rows_before, int columns_after, Transform transform) {
  for (int column = 0; column < rows_before; ++column) transform(all + column, all + column, kPatch);
  for (int row = 0; row < columns_after; ++row) transform(all + row * kPatch, all + row * kPatch, 1);
}

// Loads `side` x `side` pixels of an image from (top, left) on, with zeros outside the image.
HWY_INLINE void load_square(const float* x, const Images& size, std::int64_t image, std::int64_t top,
                            std::int64_t left, int side, std::int64_t channel, V* all) {
  for (int i = 0; i < side; ++i) {
    const std::int64_t h = top + i;
    const bool row_there = h >= 0 && h < size.height;
    const float* row = x + ((image * size.height + h) * size.width + left) * size.channels + channel;
    for (int j = 0; j < side; ++j) {
      const std::int64_t w = left + j;
      all[i * kPatch + j] =
          row_there && w >= 0 && w < size.width ? hn::LoadU(D(), row + j * size.channels) : hn::Zero(D());
    }
  }
}

HWY_INLINE void store_points(const V* all, float* to, std::int64_t point) {
  for (int i = 0; i < kPoints; ++i) hn::StoreU(all[i], D(), to + i * point);
}

// Transformed patches of the tiles from `first` on: [point][tile][channel].
void transform_patches(const float* x, const Images& size, std::int64_t padding, const Tiles& tiles,
                       std::int64_t first, std::int64_t count, float* to) {
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t tile = first + t, image = tiles.image(tile);
    const std::int64_t top = tiles.top(tile) - padding, left = tiles.left(tile) - padding;
    for (std::int64_t c = 0; c < size.channels; c += kLanes) {
      V all[kPoints];
      load_square(x, size, image, top, left, kPatch, c, all);
      in_both(all, kPatch, kPatch, of_patch);
      store_points(all, to + t * size.channels + c, kBlock * size.channels);
    }
  }
}

void transform_tiles(const float* dy, const Images& size, const Tiles& tiles, std::int64_t first,
                     std::int64_t count, float* to) {
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t tile = first + t, image = tiles.image(tile);
    for (std::int64_t c = 0; c < size.channels; c += kLanes) {
      V all[kPoints];
      load_square(dy, size, image, tiles.top(tile), tiles.left(tile), kTile, c, all);
      in_both(all, kTile, kPatch, of_tile);
      store_points(all, to + t * size.channels + c, kBlock * size.channels);
    }
  }
}

void write_tiles(const float* products, const float* bias, const Images& size, const Tiles& tiles,
                 std::int64_t first, std::int64_t count, float* y) {
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t tile = first + t;
    const std::int64_t top = tiles.top(tile), left = tiles.left(tile);
    const std::int64_t rows = std::min(kTile, size.height - top),
                       columns = std::min(kTile, size.width - left);
    float* corner = y + ((tiles.image(tile) * size.height + top) * size.width + left) * size.channels;
    for (std::int64_t c = 0; c < size.channels; c += kLanes) {
      const V added = bias == nullptr ? hn::Zero(D()) : hn::LoadU(D(), bias + c);
      V all[kPoints];
      for (int i = 0; i < kPoints; ++i)
        all[i] = hn::LoadU(D(), products + (i * kBlock + t) * size.channels + c);
      in_both(all, kPatch, kTile, to_tile);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          hn::StoreU(hn::Add(all[i * kPatch + j], added), D(),
                     corner + (i * size.width + j) * size.channels + c);
    }
  }
}

// c = a b, or c += a b: `rows` x `inner` by `inner` x `width`.
void multiply(const Factor& a, const float* b, std::int64_t rows, std::int64_t inner, std::int64_t width,
              bool add, float* c) {
  multiply(a, b, width, rows, inner, width, add, c, width);
}

// Transforms weights [tap][rows][columns] with strides to [point][rows][columns]. `flip`: last tap
// first.
void transform_weights(const float* taps, std::int64_t tap, std::int64_t row, std::int64_t rows,
                       std::int64_t columns, bool flip, float* to) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t n = 0; n < columns; n += kLanes) {
      V all[kPoints];
      for (int i = 0; i < kTaps; ++i) {
        const std::int64_t from = flip ? kTaps - 1 - i : i;
        all[i / 3 * kPatch + i % 3] = hn::LoadU(D(), taps + from * tap + r * row + n);
      }
      in_both(all, 3, kPatch, of_taps);
      store_points(all, to + r * columns + n, rows * columns);
    }
}

// y = conv(x) with transformed weights [point][x's channels][y's channels]. `work` holds a block of
// tiles of both.
void convolve(const float* x, const Images& input, std::int64_t padding, const float* weights,
              const float* bias, const Images& output, float* y, float* work) {
  const Tiles tiles(output.count, output.height, output.width);
  float* const patches = work;
  float* const products = work + kPoints * kBlock * input.channels;
  for (std::int64_t first = 0; first < tiles.count; first += kBlock) {
    const std::int64_t count = std::min(kBlock, tiles.count - first);
    transform_patches(x, input, padding, tiles, first, count, patches);
    for (std::int64_t i = 0; i < kPoints; ++i)
      multiply({patches + i * kBlock * input.channels, input.channels, 1},
               weights + i * input.channels * output.channels, count, input.channels, output.channels, false,
               products + i * kBlock * output.channels);
    write_tiles(products, bias, output, tiles, first, count, y);
  }
}

void forward_weights(const WinogradSize& size, const float* weight, float* transformed, float* turned) {
  for (std::int64_t o = 0; o < size.out; ++o)  // to [tap][in][out]
    for (std::int64_t i = 0; i < kTaps * size.in; ++i)
      turned[i * size.out + o] = weight[o * kTaps * size.in + i];
  transform_weights(turned, size.in * size.out, size.out, size.in, size.out, false, transformed);
}

void forward(const WinogradSize& size, const float* x, const float* transformed, const float* bias, float* y,
             float* work) {
  const Images input{size.images, size.height, size.width, size.in};
  const Images output{size.images, size.output_height(), size.output_width(), size.out};
  convolve(x, input, size.padding, transformed, bias, output, y, work);
}

void backward_weights(const WinogradSize& size, const float* weight, float* transformed) {
  transform_weights(weight, size.in, kTaps * size.in, size.out, size.in, true, transformed);
}

// The input gradient is the convolution of dy with the flipped weights, padded to cover all of x.
void input_gradient(const WinogradSize& size, const float* dy, const float* transformed, float* dx,
                    float* work) {
  const Images input{size.images, size.height, size.width, size.in};
  const Images output{size.images, size.output_height(), size.output_width(), size.out};
  convolve(dy, output, 2 - size.padding, transformed, nullptr, input, dx, work);
}

// From sums [point][filter][in] to gradients [filter][tap][in].
void write_gradients(const float* sums, std::int64_t filters, std::int64_t in, bool add, float* dweight) {
  for (std::int64_t o = 0; o < filters; ++o)
    for (std::int64_t c = 0; c < in; c += kLanes) {
      V all[kPoints];
      for (int i = 0; i < kPoints; ++i) all[i] = hn::LoadU(D(), sums + (i * filters + o) * in + c);
      in_both(all, kPatch, 3, to_taps);
      for (int i = 0; i < kTaps; ++i) {
        float* const to = dweight + (o * kTaps + i) * in + c;
        const V gradient = all[i / 3 * kPatch + i % 3];
        hn::StoreU(add ? hn::Add(hn::LoadU(D(), to), gradient) : gradient, D(), to);
      }
    }
}

void weight_gradient(const WinogradSize& size, const float* x, const float* dy, bool add, float* dweight,
                     float* work) {
  const Images input{size.images, size.height, size.width, size.in};
  const Images output{size.images, size.output_height(), size.output_width(), size.out};
  const Tiles tiles(output.count, output.height, output.width);
  const std::int64_t filters = filters_at_a_time(size);
  float* const patches = work;
  float* const gradients = patches + kPoints * kBlock * size.in;
  float* const sums = gradients + kPoints * kBlock * size.out;  // [point][filter][in]
  for (std::int64_t o = 0; o < size.out; o += filters) {
    for (std::int64_t first = 0; first < tiles.count; first += kBlock) {
      const std::int64_t count = std::min(kBlock, tiles.count - first);
      if (o == 0) {  // transformed only once
        transform_patches(x, input, size.padding, tiles, first, count, patches);
        transform_tiles(dy, output, tiles, first, count, gradients);
      }
      for (std::int64_t i = 0; i < kPoints; ++i)
        multiply({gradients + i * kBlock * size.out + o, 1, size.out}, patches + i * kBlock * size.in,
                 filters, count, size.in, first > 0, sums + i * filters * size.in);
    }
    write_gradients(sums, filters, size.in, add, dweight + o * kTaps * size.in);
  }
}

}  // namespace
}  // namespace veche::torch_model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veche::torch_model {
namespace {

HWY_EXPORT(forward_weights);
HWY_EXPORT(forward);
HWY_EXPORT(backward_weights);
HWY_EXPORT(input_gradient);
HWY_EXPORT(weight_gradient);

}  // namespace

bool winograd_pays(const WinogradSize& size, bool weights_reused) {
  constexpr std::int64_t kMostLanes = 16;  // of any instruction set: channels have no remainder
  constexpr std::int64_t kSide = 6;        // of the output: smaller images are mostly edge tiles
  const std::int64_t fewest = weights_reused ? 12 : 24;  // tiles
  return size.in % kMostLanes == 0 && size.out % kMostLanes == 0 && size.padding <= 2 &&
         size.output_height() >= kSide && size.output_width() >= kSide &&
         Tiles(size.images, size.output_height(), size.output_width()).count >= fewest;
}

std::size_t winograd_weights(const WinogradSize& size) {
  return static_cast<std::size_t>(kPoints * size.in * size.out);
}
std::size_t winograd_taps(const WinogradSize& size) {
  return static_cast<std::size_t>(kTaps * size.in * size.out);
}
std::size_t winograd_work(const WinogradSize& size) {
  return static_cast<std::size_t>(kPoints * kBlock * (size.in + size.out));
}
std::size_t winograd_gradient_work(const WinogradSize& size) {
  return winograd_work(size) + static_cast<std::size_t>(kPoints * filters_at_a_time(size) * size.in);
}

void winograd_forward_weights(const WinogradSize& size, const float* weight, float* transformed,
                              float* work) {
  HWY_DYNAMIC_DISPATCH(forward_weights)(size, weight, transformed, work);
}

void winograd_forward(const WinogradSize& size, const float* x, const float* transformed, const float* bias,
                      float* y, float* work) {
  HWY_DYNAMIC_DISPATCH(forward)(size, x, transformed, bias, y, work);
}

void winograd_backward_weights(const WinogradSize& size, const float* weight, float* transformed) {
  HWY_DYNAMIC_DISPATCH(backward_weights)(size, weight, transformed);
}

void winograd_input_gradient(const WinogradSize& size, const float* dy, const float* transformed, float* dx,
                             float* work) {
  HWY_DYNAMIC_DISPATCH(input_gradient)(size, dy, transformed, dx, work);
}

void winograd_weight_gradient(const WinogradSize& size, const float* x, const float* dy, bool add,
                              float* dweight, float* work) {
  HWY_DYNAMIC_DISPATCH(weight_gradient)(size, x, dy, add, dweight, work);
}

}  // namespace veche::torch_model

#endif  // HWY_ONCE
