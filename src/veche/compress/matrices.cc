#include "veche/compress/matrices.h"

#include <algorithm>
#include <cmath>

#include "veche/compress/kernels/kernels.h"
#include "veche/random.h"

namespace veche {

Matrices::Matrices(const StreamShape& shape, int rank) {
  for (const TensorRun& run : tensor_runs(shape)) {
    const std::vector<std::int64_t> extents = run.tensor < 0
                                                  ? std::vector<std::int64_t>{}
                                                  : shape.tensors[static_cast<std::size_t>(run.tensor)].shape;
    const std::size_t rows = extents.size() < 2 ? 1 : static_cast<std::size_t>(extents[0]);
    const std::size_t columns = run.length / rows;
    const std::size_t used = std::min({rows, columns, static_cast<std::size_t>(rank)});
    if (run.length < shape.small || extents.size() < 2 || 2 * (rows + columns) * used >= run.length) {
      rest.push_back(run);
      rest_floats += run.length;
      continue;
    }
    matrices.push_back({run.from, rows, columns, used, p_floats, q_floats});
    p_floats += rows * used;
    q_floats += columns * used;
  }
}

void orthonormalize(float* columns, std::size_t length, std::size_t count) {
  constexpr double kDependent = 1e-6;  // relative to a column's length: anything smaller is rounding
  for (std::size_t k = 0; k < count; ++k) {
    float* const column = columns + k * length;
    const double before = std::sqrt(kernels::dot(column, column, length));
    // The second pass removes what rounding left of the first.
    for (int time = 0; time < 2; ++time)
      for (std::size_t other = 0; other < k; ++other) {
        const float* const unit = columns + other * length;
        const auto along = static_cast<float>(kernels::dot(unit, column, length));
        for (std::size_t i = 0; i < length; ++i) column[i] -= along * unit[i];
      }
    const double norm = std::sqrt(kernels::dot(column, column, length));
    const auto factor = static_cast<float>(norm > kDependent * before ? 1 / norm : 0);
    for (std::size_t i = 0; i < length; ++i) column[i] *= factor;
  }
}

void refill_zero_columns(float* columns, std::size_t length, std::size_t count, std::uint64_t seed,
                         std::uint64_t place, std::uint64_t round) {
  for (std::size_t k = 0; k < count; ++k) {
    float* const column = columns + k * length;
    if (std::any_of(column, column + length, [](float x) { return x != 0; })) continue;
    RandomStream random(seed, "power iteration", place * count + k, round);
    for (std::size_t i = 0; i < length; ++i) column[i] = static_cast<float>(random.normal());
  }
}

}  // namespace veche
