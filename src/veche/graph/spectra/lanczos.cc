#include "veche/graph/spectra/lanczos.h"

#include <Spectra/GenEigsSolver.h>
#include <Spectra/SymEigsSolver.h>

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>

#include "veche/errors.h"
#include "veche/random.h"

namespace veche {
namespace {

using Vector = Eigen::VectorXd;
using ConstMap = Eigen::Map<const Vector>;
using Map = Eigen::Map<Vector>;

// y = A x with the eigenvalue of the ones vector moved by `shift`; Spectra's operator interface.
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

// y = A^-1 x on the vectors that sum to zero.
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

// Whether a Cholesky factor of the matrix has at most `limit` entries; counts them symbolically.
bool fill_is_small(const SparseMatrix& matrix, long long limit) {
  Eigen::AMDOrdering<int>::PermutationType order;
  Eigen::AMDOrdering<int>()(matrix, order);
  SparseMatrix ordered(matrix.rows(), matrix.cols());
  ordered = matrix.twistedBy(order.inverse());
  const int n = static_cast<int>(matrix.rows());
  std::vector<int> parent(static_cast<std::size_t>(n), -1), tag(static_cast<std::size_t>(n));
  long long count = 0;
  for (int k = 0; k < n; ++k) {  // walks the elimination tree, as every sparse Cholesky does
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

// The eigenvalue of A nearest to `end`, other than that of the ones vector.
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

// Number of eigenvalues of the tridiagonal matrix below x (Sturm sequence).
std::size_t count_below(const std::vector<double>& diagonal, const std::vector<double>& beside, double x) {
  std::size_t count = 0;
  double pivot = 1;
  for (std::size_t k = 0; k < diagonal.size(); ++k) {
    pivot = diagonal[k] - x - (k > 0 ? beside[k - 1] * beside[k - 1] / pivot : 0.0);
    if (pivot == 0) pivot = 1e-300;
    count += pivot < 0;
  }
  return count;
}

// The eigenvalue with `rank` others below it, by bisection between bounds, to rounding.
double tridiagonal_eigenvalue(const std::vector<double>& diagonal, const std::vector<double>& beside,
                              std::size_t rank, double low, double high) {
  for (int k = 0; k < 60; ++k) {
    const double middle = (low + high) / 2;
    (count_below(diagonal, beside, middle) > rank ? high : low) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

Lanczos::Lanczos(const SparseMatrix& matrix, double row_sum, double middle)
    : matrix_(matrix), shift_(middle - row_sum), before_(Vector::Zero(matrix.rows())), now_(matrix.rows()) {
  RandomStream random(1, "lanczos");
  for (Eigen::Index i = 0; i < now_.size(); ++i) now_(i) = random.normal();
  now_.normalize();
}

std::optional<Extremes> Lanczos::run(int steps, double tolerance) {
  for (int k = 0; k < steps; ++k) {
    const double beta = beside_.empty() ? 0.0 : beside_.back();
    Vector next = matrix_.transpose() * now_;  // symmetric; by rows there are no scattered writes
    next.array() += shift_ * now_.mean();
    diagonal_.push_back(next.dot(now_));
    next -= diagonal_.back() * now_ + beta * before_;
    beside_.push_back(next.norm());
    before_ = std::move(now_);
    now_ = next / beside_.back();
    if (diagonal_.size() < next_check_ && beside_.back() > 1e-13) continue;
    next_check_ = diagonal_.size() + diagonal_.size() / 4 + 8;
    const Extremes found = extremes();
    const double spread = found.high - found.low;
    const bool exhausted = beside_.back() <= 1e-13;  // the Krylov space is the whole space
    low_settled_ = exhausted || std::abs(found.low - last_.low) <= tolerance * spread;
    high_settled_ = exhausted || std::abs(found.high - last_.high) <= tolerance * spread;
    last_ = found;
    if (low_settled_ && high_settled_) return found;
  }
  return std::nullopt;
}

Extremes Lanczos::extremes() const {
  double reach = 0;
  for (std::size_t k = 0; k < diagonal_.size(); ++k) {
    reach = std::max(reach, std::abs(diagonal_[k]) + beside_[k] + (k > 0 ? beside_[k - 1] : 0.0));
  }
  return {tridiagonal_eigenvalue(diagonal_, beside_, 0, -reach, reach),
          tridiagonal_eigenvalue(diagonal_, beside_, diagonal_.size() - 1, -reach, reach)};
}

std::optional<Extremes> factorised_extremes(const SparseMatrix& matrix, double row_sum,
                                            std::optional<double> known_low,
                                            std::optional<double> known_high) {
  if (!fill_is_small(matrix, 40'000'000)) return std::nullopt;
  // Gershgorin bounds on all eigenvalues. The ends are moved slightly outwards so that the factors
  // exist.
  Vector radius = Vector::Zero(matrix.rows());
  for (int column = 0; column < matrix.outerSize(); ++column) {
    for (SparseMatrix::InnerIterator entry(matrix, column); entry; ++entry) {
      if (entry.row() != column) radius(column) += std::abs(entry.value());
    }
  }
  const Vector diagonal = matrix.diagonal();
  const double low = (diagonal - radius).minCoeff(), high = (diagonal + radius).maxCoeff();
  const double hair = 1e-9 * std::max({std::abs(low), std::abs(high), std::abs(row_sum)});
  return Extremes{known_low ? *known_low : nearest_eigenvalue(matrix, low - hair),
                  known_high ? *known_high : nearest_eigenvalue(matrix, high + hair)};
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
