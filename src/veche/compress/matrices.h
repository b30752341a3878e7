#pragma once

#include "veche/compress/tensor_runs.h"

namespace veche {

// A tensor of a stream as a matrix: its first dimension, by all others in the order in which they lie.
struct Matrix {
  std::size_t from = 0;  // in the stream
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t rank = 0;  // of what it is sent as: at most that of the matrix itself
  std::size_t p = 0;     // where rows * rank floats begin, counted over all matrices
  std::size_t q = 0;     // and columns * rank floats
};

// What of a stream is sent as products of low rank. A tensor is if twice the floats of both factors are fewer
// than its own, and it is not small; the rest is sent as it is.
struct Matrices {
  Matrices(const StreamShape& shape, int rank);

  std::vector<Matrix> matrices;
  std::vector<TensorRun> rest;
  std::size_t p_floats = 0;
  std::size_t q_floats = 0;
  std::size_t rest_floats = 0;
};

// Columns of `length` floats become orthonormal, one after the other; those that depend on former ones, zero.
void orthonormalize(float* columns, std::size_t length, std::size_t count);

// Fills columns of zeros with random numbers that `seed`, `place` and `round` decide: power iterations do not
// get away from zero.
void awaken(float* columns, std::size_t length, std::size_t count, std::uint64_t seed, std::uint64_t place,
            std::uint64_t round);

}  // namespace veche
