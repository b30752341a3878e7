#include "veche/graph/lanczos.h"

#include <Spectra/GenEigsSolver.h>
#include <Spectra/SymEigsSolver.h>

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>

#include "veche/base/errors.h"

namespace veche {
namespace {

using Vector = Eigen::VectorXd;
using ConstMap = Eigen::Map<const Vector>;
using Map = Eigen::Map<Vector>;

// y = A x with the eigenvalue of ones moved by `shift`; the shape that Spectra asks for.
struct Product {
  using Scalar = double;
  const SparseMatrix& matrix;
  double shift;

  Eigen::Index rows() const { return matrix.rows(); }
  Eigen::Index cols() const { return matrix.cols(); }
  void perform_op(const double* in, double* out) const {
    const ConstMap x(in, rows());
    Map y(out, rows());
    y.noalias() = matrix * x;
    y.array() += shift * x.mean();
  }
};

// y = A^-1 x within the vectors that sum to zero.
struct Solve {
  using Scalar = double;
  const Eigen::SimplicialLDLT<SparseMatrix>& factors;

  Eigen::Index rows() const { return factors.rows(); }
  Eigen::Index cols() const { return factors.rows(); }
  void perform_op(const double* in, double* out) const {
    Vector x = ConstMap(in, rows());
    x.array() -= x.mean();
    Map y(out, rows());
    y = factors.solve(x);
    y.array() -= y.mean();
  }
};

// Whether a Cholesky factor of the matrix has at most `limit` entries; counts without making them.
bool fill_is_small(const SparseMatrix& matrix, long long limit) {
  Eigen::AMDOrdering<int>::PermutationType order;
  Eigen::AMDOrdering<int>()(matrix, order);
  SparseMatrix ordered(matrix.rows(), matrix.cols());
  ordered = matrix.twistedBy(order.inverse());
  const int n = static_cast<int>(matrix.rows());
  std::vector<int> parent(static_cast<std::size_t>(n), -1), tag(static_cast<std::size_t>(n));
  long long count = 0;
  for (int k = 0; k < n; ++k) {  // the elimination tree, walked as in every sparse Cholesky
    tag[static_cast<std::size_t>(k)] = k;
    for (SparseMatrix::InnerIterator entry(ordered, k); entry; ++entry) {
      for (int i = static_cast<int>(entry.row()); i < k && tag[static_cast<std::size_t>(i)] != k;) {
        if (parent[static_cast<std::size_t>(i)] == -1) parent[static_cast<std::size_t>(i)] = k;
        tag[static_cast<std::size_t>(i)] = k;
        i = parent[static_cast<std::size_t>(i)];
        if (++count > limit) return false;
      }
    }
  }
  return true;
}

// The eigenvalue of A, besides ones, nearest to `end`.
double nearest_eigenvalue(const SparseMatrix& matrix, double end) {
  SparseMatrix identity(matrix.rows(), matrix.rows());
  identity.setIdentity();
  const SparseMatrix shifted = matrix - end * identity;
  const Eigen::SimplicialLDLT<SparseMatrix> factors(shifted);
  Solve solve{factors};
  Spectra::SymEigsSolver<Solve> solver(solve, 1, std::min<Eigen::Index>(24, matrix.rows()));
  solver.init();
  if (solver.compute(Spectra::SortRule::LargestMagn, 200, 1e-11) < 1) {
    throw RunError("the eigenvalues of a large graph did not converge");
  }
  return end + 1 / solver.eigenvalues()(0);
}

}  // namespace

std::optional<Extremes> lanczos_extremes(const SparseMatrix& matrix, double row_sum, double middle, int steps,
                                         double tolerance) {
  Product product{matrix, middle - row_sum};
  const Eigen::Index basis = std::min<Eigen::Index>(48, matrix.rows());
  Spectra::SymEigsSolver<Product> solver(product, 2, basis);
  solver.init();
  if (solver.compute(Spectra::SortRule::BothEnds, std::max(1, steps / static_cast<int>(basis)), tolerance) <
      2) {
    return std::nullopt;
  }
  return Extremes{solver.eigenvalues().minCoeff(), solver.eigenvalues().maxCoeff()};
}

std::optional<Extremes> factorised_extremes(const SparseMatrix& matrix, double row_sum) {
  if (!fill_is_small(matrix, 40'000'000)) return std::nullopt;
  // Gershgorin: no eigenvalue lies outside. The ends are shifted off by a hair so that the factors exist.
  Vector radius = Vector::Zero(matrix.rows());
  for (int column = 0; column < matrix.outerSize(); ++column) {
    for (SparseMatrix::InnerIterator entry(matrix, column); entry; ++entry) {
      if (entry.row() != column) radius(column) += std::abs(entry.value());
    }
  }
  const Vector diagonal = matrix.diagonal();
  const double low = (diagonal - radius).minCoeff(), high = (diagonal + radius).maxCoeff();
  const double hair = 1e-9 * std::max({std::abs(low), std::abs(high), std::abs(row_sum)});
  return Extremes{nearest_eigenvalue(matrix, low - hair), nearest_eigenvalue(matrix, high + hair)};
}

double largest_modulus(const SparseMatrix& matrix) {
  Product product{matrix, -1.0};
  const Eigen::Index basis = std::min<Eigen::Index>(60, matrix.rows());
  Spectra::GenEigsSolver<Product> solver(product, 1, basis);
  solver.init();
  if (solver.compute(Spectra::SortRule::LargestMagn, 300, 1e-9) < 1) {
    throw RunError("the eigenvalues of a large directed graph did not converge");
  }
  return std::abs(solver.eigenvalues()(0));
}

}  // namespace veche
