#pragma once

#include "veche/compress/tensor_runs.h"

namespace veche {

// A tensor of a stream viewed as a matrix: its first dimension by all others, in storage order.
struct Matrix {
  std::size_t from = 0;  // offset in the stream
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t rank = 0;  // rank of the factors sent; at most the matrix's own
  std::size_t p = 0;     // offset of its rows * rank floats of P, over all matrices
  std::size_t q = 0;     // offset of its columns * rank floats of Q
};

// The matrices of a stream that are sent as low-rank products. A tensor qualifies if it is not
// small and twice the size of both factors is less than its own. The rest is sent uncompressed.
struct Matrices {
  Matrices(const StreamShape& shape, int rank);

  std::vector<Matrix> matrices;
  std::vector<TensorRun> rest;
  std::size_t p_floats = 0;
  std::size_t q_floats = 0;
  std::size_t rest_floats = 0;
};

// Orthonormalises columns of `length` floats in order. A column that depends on earlier ones
// becomes zero.
void orthonormalize(float* columns, std::size_t length, std::size_t count);

// Fills zero columns with random numbers determined by `seed`, `place` and `round`: power
// iterations cannot leave zero.
void refill_zero_columns(float* columns, std::size_t length, std::size_t count, std::uint64_t seed,
                         std::uint64_t place, std::uint64_t round);

}  // namespace veche
