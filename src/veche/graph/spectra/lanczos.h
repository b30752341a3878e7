#pragma once

#include <optional>
#include <vector>

#include "veche/graph/spectra/spectrum.h"

namespace veche {

// The extreme eigenvalues of a large symmetric matrix with row sums `row_sum`, by matrix-vector
// products only. The eigenvalue of the ones vector is moved to `middle`, out of the way. This is
// the plain three-vector recurrence without reorthogonalisation: general solvers reorthogonalise at
// ten times the cost, and the duplicate eigenvalues which that prevents do not affect the extremes.
// Borrows the matrix.
class Lanczos {
 public:
  Lanczos(const SparseMatrix& matrix, double row_sum, double middle);

  // Continues for up to `steps` products. Returns nullopt while the extremes still move by more
  // than `tolerance` of their distance.
  std::optional<Extremes> run(int steps, double tolerance);
  // The extremes that have converged so far. One often converges long before the other.
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

// The extremes when eigenvalues cluster at the ends (rings, meshes, trees): factorises the matrix
// near each end, which separates them. Returns nullopt if the factors would be too large, as they
// are for well-mixed graphs; Lanczos solves these. Ends that are already known are not computed
// again.
std::optional<Extremes> factorised_extremes(const SparseMatrix& matrix, double row_sum,
                                            std::optional<double> known_low,
                                            std::optional<double> known_high);

// The largest modulus of the eigenvalues of a large nonsymmetric matrix, other than the eigenvalue
// 1 of the ones vector. Throws RunError if it does not converge.
double largest_modulus(const SparseMatrix& matrix);

}  // namespace veche
