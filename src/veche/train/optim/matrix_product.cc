#include "veche/train/optim/matrix_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/train/optim/matrix_product.cc"
#include "veche/base/machine/each_target.h"

HWY_BEFORE_NAMESPACE();
namespace veche::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kRows = 6;     // of c that stay in registers, over
constexpr std::size_t kVectors = 2;  // vectors of columns

// R rows of c over the vectors of columns that begin at b and c.
template <std::size_t R>
HWY_INLINE void tile(const float* a, const float* b, float* c, std::size_t inner, std::size_t columns) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> sums[R][kVectors];
  for (auto& row : sums)
    for (auto& sum : row) sum = hn::Zero(d);
  for (std::size_t k = 0; k < inner; ++k) {
    const auto b0 = hn::LoadU(d, b + k * columns), b1 = hn::LoadU(d, b + k * columns + lanes);
    for (std::size_t r = 0; r < R; ++r) {
      const auto x = hn::Set(d, a[r * inner + k]);
      sums[r][0] = hn::MulAdd(x, b0, sums[r][0]);
      sums[r][1] = hn::MulAdd(x, b1, sums[r][1]);
    }
  }
  for (std::size_t r = 0; r < R; ++r)
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, c + r * columns + v * lanes);
}

void product(const float* a, const float* b, float* c, std::size_t rows, std::size_t inner,
             std::size_t columns) {
  const std::size_t width = kVectors * hn::Lanes(hn::ScalableTag<float>());
  std::size_t j = 0;
  for (; j + width <= columns; j += width) {
    std::size_t i = 0;
    for (; i + kRows <= rows; i += kRows)
      tile<kRows>(a + i * inner, b + j, c + i * columns + j, inner, columns);
    for (; i < rows; ++i) tile<1>(a + i * inner, b + j, c + i * columns + j, inner, columns);
  }
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t rest = j; rest < columns; ++rest) {
      float sum = 0;
      for (std::size_t k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * columns + rest];
      c[i * columns + rest] = sum;
    }
}

}  // namespace
}  // namespace veche::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veche {
namespace {

HWY_EXPORT(product);

}  // namespace

void matrix_product(const float* a, const float* b, float* c, std::size_t rows, std::size_t inner,
                    std::size_t columns) {
  HWY_DYNAMIC_DISPATCH(product)(a, b, c, rows, inner, columns);
}

}  // namespace veche

#endif  // HWY_ONCE
