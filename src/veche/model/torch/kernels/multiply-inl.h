// For winograd.cc and attention.cc, once per instruction set (base/machine/each_target.h).
#include <cstdint>

#ifndef VECHE_MULTIPLY_ONCE
#define VECHE_MULTIPLY_ONCE
namespace veche::torch_model {

// Element (i, k) is at numbers + i * row + k * column.
struct Factor {
  const float* numbers;
  std::int64_t row, column;
};

}  // namespace veche::torch_model
#endif

HWY_BEFORE_NAMESPACE();
namespace veche::torch_model::HWY_NAMESPACE {
namespace {

// Rows [0, R) and P vectors of columns of c = a b, or of c += a b; the rows of b are `b_row` apart,
// those of c `c_row`.
template <int R, int P>
HWY_INLINE void multiply_part(const Factor& a, const float* b, std::int64_t b_row, std::int64_t inner,
                              bool add, float* c, std::int64_t c_row) {
  namespace hn = hwy::HWY_NAMESPACE;
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  constexpr std::int64_t kLanes = hn::MaxLanes(D());
  V sum[R][P];
  for (int r = 0; r < R; ++r)
    for (int p = 0; p < P; ++p) sum[r][p] = add ? hn::LoadU(D(), c + r * c_row + p * kLanes) : hn::Zero(D());
  for (std::int64_t k = 0; k < inner; ++k) {
    V right[P];
    for (int p = 0; p < P; ++p) right[p] = hn::LoadU(D(), b + k * b_row + p * kLanes);
    for (int r = 0; r < R; ++r) {
      const V left = hn::Set(D(), a.numbers[r * a.row + k * a.column]);
      for (int p = 0; p < P; ++p) sum[r][p] = hn::MulAdd(left, right[p], sum[r][p]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int p = 0; p < P; ++p) hn::StoreU(sum[r][p], D(), c + r * c_row + p * kLanes);
}

template <int P>
HWY_INLINE void multiply_columns(Factor a, const float* b, std::int64_t b_row, std::int64_t rows,
                                 std::int64_t inner, bool add, float* c, std::int64_t c_row) {
  // with two vectors of columns: enough sums to hide latency and few enough for the registers
  constexpr int kRows = 6;
  for (; rows >= kRows; rows -= kRows, a.numbers += kRows * a.row, c += kRows * c_row)
    multiply_part<kRows, P>(a, b, b_row, inner, add, c, c_row);
  for (; rows >= 4; rows -= 4, a.numbers += 4 * a.row, c += 4 * c_row)
    multiply_part<4, P>(a, b, b_row, inner, add, c, c_row);
  for (; rows >= 2; rows -= 2, a.numbers += 2 * a.row, c += 2 * c_row)
    multiply_part<2, P>(a, b, b_row, inner, add, c, c_row);
  if (rows == 1) multiply_part<1, P>(a, b, b_row, inner, add, c, c_row);
}

// c = a b, or c += a b: `rows` x `inner` by `inner` x `width`, which is a multiple of a vector.
void multiply(const Factor& a, const float* b, std::int64_t b_row, std::int64_t rows, std::int64_t inner,
              std::int64_t width, bool add, float* c, std::int64_t c_row) {
  constexpr std::int64_t kVector = hwy::HWY_NAMESPACE::MaxLanes(hwy::HWY_NAMESPACE::ScalableTag<float>());
  std::int64_t n = 0;
  for (; n + 2 * kVector <= width; n += 2 * kVector)
    multiply_columns<2>(a, b + n, b_row, rows, inner, add, c + n, c_row);
  for (; n < width; n += kVector) multiply_columns<1>(a, b + n, b_row, rows, inner, add, c + n, c_row);
}

}  // namespace
}  // namespace veche::torch_model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
