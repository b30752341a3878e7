#pragma once

#include <optional>

#include "veche/graph/spectrum.h"

namespace veche {

// The extremes of a large symmetric matrix whose rows sum to `row_sum`, by products with vectors only. The
// eigenvalue of ones is moved to `middle`, out of the way. Empty when `steps` products do not reach the
// relative tolerance.
std::optional<Extremes> lanczos_extremes(const SparseMatrix& matrix, double row_sum, double middle, int steps,
                                         double tolerance);

// The same where eigenvalues crowd at the ends (rings, meshes, trees): the matrix is factorised near each
// end, which spreads them. Empty when the factors would be too large, as they are for well-mixed graphs,
// which Lanczos solves.
std::optional<Extremes> factorised_extremes(const SparseMatrix& matrix, double row_sum);

// The largest modulus besides the eigenvalue 1 of ones, of a large matrix that is not symmetric. RunError
// when it does not converge.
double largest_modulus(const SparseMatrix& matrix);

}  // namespace veche
