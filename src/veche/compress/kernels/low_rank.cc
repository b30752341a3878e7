#include "veche/compress/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veche/compress/kernels/low_rank.cc"
#include "veche/base/machine/each_target.h"

HWY_BEFORE_NAMESPACE();
namespace veche::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLanes = 16;   // partial sums, independent of the vector length
constexpr std::size_t kColumns = 4;  // columns of P and Q per pass over a row; more take further passes
constexpr std::size_t kRows = 4;     // rows of M per pass over Q

// A row times K columns of Q, `m` apart; results are `n` apart.
template <std::size_t K>
HWY_INLINE void row_times(const float* row, std::size_t m, const float* q, std::size_t n, float* p) {
  using D = hn::CappedTag<float, kLanes>;
  const D d;
  constexpr std::size_t kVector = hn::MaxLanes(D());
  constexpr std::size_t kVectors = kLanes / kVector;
  hn::Vec<D> sums[K][kVectors];
  for (auto& column : sums)
    for (auto& sum : column) sum = hn::Zero(d);
  std::size_t j = 0;
  for (; j + kLanes <= m; j += kLanes)
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto x = hn::LoadU(d, row + j + v * kVector);
      for (std::size_t k = 0; k < K; ++k)
        sums[k][v] = hn::Add(sums[k][v], hn::Mul(x, hn::LoadU(d, q + k * m + j + v * kVector)));
    }
  for (std::size_t k = 0; k < K; ++k) {
    float lanes[kLanes];
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[k][v], d, lanes + v * kVector);
    float total = 0;
    for (const float lane : lanes) total += lane;
    for (std::size_t rest = j; rest < m; ++rest) total += row[rest] * q[k * m + rest];
    p[k * n] = total;
  }
}

HWY_INLINE void row_times_all(const float* row, std::size_t m, const float* q, std::size_t rank,
                              std::size_t n, float* p) {
  std::size_t k = 0;
  for (; k + kColumns <= rank; k += kColumns) row_times<kColumns>(row, m, q + k * m, n, p + k * n);
  if (rank - k == 3) row_times<3>(row, m, q + k * m, n, p + k * n);
  if (rank - k == 2) row_times<2>(row, m, q + k * m, n, p + k * n);
  if (rank - k == 1) row_times<1>(row, m, q + k * m, n, p + k * n);
}

void right(const float* matrix, std::size_t n, std::size_t m, const float* q, std::size_t rank, float* memory,
           float* p) {
  for (std::size_t i = 0; i < n; ++i) {
    const float* row = matrix + i * m;
    if (memory != nullptr) {  // stays in the first-level cache until multiplied
      float* const kept = memory + i * m;
      for (std::size_t j = 0; j < m; ++j) kept[j] += row[j];
      row = kept;
    }
    row_times_all(row, m, q, rank, n, p + i);
  }
}

// K columns of Q += rows of M times entries of P.
template <std::size_t K>
HWY_INLINE void add_rows(const float* const* rows, const float (&p)[K][kRows], std::size_t m,
                         float* HWY_RESTRICT q) {
  const float* const r0 = rows[0];
  const float* const r1 = rows[1];
  const float* const r2 = rows[2];
  const float* const r3 = rows[3];
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t k = 0; k < K; ++k)
      q[k * m + j] += (p[k][0] * r0[j] + p[k][1] * r1[j]) + (p[k][2] * r2[j] + p[k][3] * r3[j]);
}

template <std::size_t K>
HWY_INLINE void left_columns(const float* matrix, std::size_t n, std::size_t m, const float* p, float* q) {
  std::fill(q, q + K * m, 0.0F);
  for (std::size_t i = 0; i < n; i += kRows) {
    const float* rows[kRows];
    float factors[K][kRows];
    for (std::size_t r = 0; r < kRows; ++r) {  // missing rows contribute nothing
      const bool there = i + r < n;
      rows[r] = matrix + (there ? i + r : i) * m;
      for (std::size_t k = 0; k < K; ++k) factors[k][r] = there ? p[k * n + i + r] : 0.0F;
    }
    add_rows<K>(rows, factors, m, q);
  }
}

void left(const float* matrix, std::size_t n, std::size_t m, const float* p, std::size_t rank, float* q) {
  std::size_t k = 0;
  for (; k + 2 <= rank; k += 2) left_columns<2>(matrix, n, m, p + k * n, q + k * m);
  if (k < rank) left_columns<1>(matrix, n, m, p + k * n, q + k * m);
}

// A row of P Q', two columns at a time.
HWY_INLINE void row_of_product(const float* p, const float* q, std::size_t n, std::size_t m, std::size_t rank,
                               float weight, float* HWY_RESTRICT row) {
  std::size_t k = 0;
  if (rank % 2 == 1) {
    const float a = weight * p[0];
    for (std::size_t j = 0; j < m; ++j) row[j] = a * q[j];
    k = 1;
  } else {
    const float a = weight * p[0], b = weight * p[n];
    for (std::size_t j = 0; j < m; ++j) row[j] = a * q[j] + b * q[m + j];
    k = 2;
  }
  for (; k < rank; k += 2) {
    const float a = weight * p[k * n], b = weight * p[(k + 1) * n];
    const float* const first = q + k * m;
    for (std::size_t j = 0; j < m; ++j) row[j] += a * first[j] + b * first[m + j];
  }
}

void make_product(const float* p, const float* q, std::size_t n, std::size_t m, std::size_t rank,
                  float weight, float* out, float* memory) {
  for (std::size_t i = 0; i < n; ++i) {
    float* HWY_RESTRICT row = out + i * m;
    row_of_product(p + i, q, n, m, rank, weight, row);
    if (memory == nullptr) continue;
    float* HWY_RESTRICT kept = memory + i * m;
    for (std::size_t j = 0; j < m; ++j) kept[j] -= row[j];
  }
}

void include_product(const float* p, const float* q, std::size_t n, std::size_t m, std::size_t rank,
                     float weight, float* out) {
  constexpr std::size_t kPart = 1024;  // floats per part of a row: fits in the first-level cache
  float part[kPart];
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t from = 0; from < m; from += kPart) {
      const std::size_t length = m - from < kPart ? m - from : kPart;
      for (std::size_t j = 0; j < length; ++j) part[j] = 0;
      for (std::size_t k = 0; k < rank; ++k) {
        const float a = weight * p[k * n + i];
        const float* const column = q + k * m + from;
        for (std::size_t j = 0; j < length; ++j) part[j] += a * column[j];
      }
      float* HWY_RESTRICT row = out + i * m + from;
      for (std::size_t j = 0; j < length; ++j) row[j] += part[j];
    }
}

double dot_of(const float* x, const float* y, std::size_t n) {
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += static_cast<double>(x[i + lane]) * static_cast<double>(y[i + lane]);
  double result = 0;
  for (const double lane : lanes) result += lane;
  for (; i < n; ++i) result += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return result;
}

}  // namespace veche::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veche::kernels {

HWY_EXPORT(right);
HWY_EXPORT(left);
HWY_EXPORT(make_product);
HWY_EXPORT(include_product);
HWY_EXPORT(dot_of);

void times_right(const float* matrix, std::size_t n, std::size_t m, const float* q, std::size_t rank,
                 float* p) {
  HWY_DYNAMIC_DISPATCH(right)(matrix, n, m, q, rank, nullptr, p);
}
void add_and_times_right(const float* matrix, std::size_t n, std::size_t m, const float* q, std::size_t rank,
                         float* memory, float* p) {
  HWY_DYNAMIC_DISPATCH(right)(matrix, n, m, q, rank, memory, p);
}
void times_left(const float* matrix, std::size_t n, std::size_t m, const float* p, std::size_t rank,
                float* q) {
  HWY_DYNAMIC_DISPATCH(left)(matrix, n, m, p, rank, q);
}
void product(const float* p, const float* q, std::size_t n, std::size_t m, std::size_t rank, float weight,
             float* out, float* memory) {
  HWY_DYNAMIC_DISPATCH(make_product)(p, q, n, m, rank, weight, out, memory);
}
void add_product(const float* p, const float* q, std::size_t n, std::size_t m, std::size_t rank, float weight,
                 float* out) {
  HWY_DYNAMIC_DISPATCH(include_product)(p, q, n, m, rank, weight, out);
}
double dot(const float* x, const float* y, std::size_t n) { return HWY_DYNAMIC_DISPATCH(dot_of)(x, y, n); }

}  // namespace veche::kernels
#endif
