#pragma once

#include <cstdint>

namespace veche::torch_model {

// A row-major matrix, as it lies in memory or transposed.
struct Matrix {
  const float* numbers;
  std::int64_t row;  // row stride
  bool turned = false;
};

// c = a b, or c = a b + c: `rows` x `inner` by `inner` x `columns`. Uses oneDNN rather than
// libtorch's BLAS: for the few rows of a batch it is up to a third faster, since it does not copy
// the weights first, and it knows more instruction sets.
void product(const Matrix& a, const Matrix& b, float* c, std::int64_t rows, std::int64_t inner,
             std::int64_t columns, bool add = false);

}  // namespace veche::torch_model
