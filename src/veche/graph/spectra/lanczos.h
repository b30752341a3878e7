#pragma once

#include <optional>
#include <vector>

#include "veche/graph/spectra/spectrum.h"

namespace veche {

// The extremes of a large symmetric matrix whose rows sum to `row_sum`, by products with vectors only. The
// eigenvalue of ones is moved to `middle`, out of the way. The plain recurrence, three vectors long: keeping
// all vectors orthogonal, as general solvers do, costs ten times as much, and the copies of eigenvalues that
// it prevents do not touch the extremes. Refers to the matrix.
class Lanczos {
 public:
  Lanczos(const SparseMatrix& matrix, double row_sum, double middle);

  // Goes on by up to so many products; empty while the extremes still move by more than `tolerance` of their
  // distance.
  std::optional<Extremes> run(int steps, double tolerance);
  // The ends that came to rest in what was run so far; often one of them does long before the other.
  std::optional<double> low() const { return low_settled_ ? std::optional(last_.low) : std::nullopt; }
  std::optional<double> high() const { return high_settled_ ? std::optional(last_.high) : std::nullopt; }

 private:
  Extremes extremes() const;

  const SparseMatrix& matrix_;
  const double shift_;
  Eigen::VectorXd before_, now_;
  std::vector<double> diagonal_, beside_;  // of the tridiagonal matrix with the same extremes
  std::size_t next_check_ = 32;
  Extremes last_;
  bool low_settled_ = false, high_settled_ = false;
};

// The extremes where eigenvalues crowd at the ends (rings, meshes, trees): the matrix is factorised near each
// end, which spreads them. Empty when the factors would be too large, as they are for well-mixed graphs,
// which Lanczos solves.
// Ends that are known already are not looked for.
std::optional<Extremes> factorised_extremes(const SparseMatrix& matrix, double row_sum,
                                            std::optional<double> known_low,
                                            std::optional<double> known_high);

// The largest modulus besides the eigenvalue 1 of ones, of a large matrix that is not symmetric. RunError
// when it does not converge.
double largest_modulus(const SparseMatrix& matrix);

}  // namespace veche
