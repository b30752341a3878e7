#include "veche/graph/spectra/spectrum.h"

#include <Eigen/Dense>

#include "veche/errors.h"
#include "veche/graph/spectra/lanczos.h"
#include "veche/graph/spectra/translation.h"

namespace veche {

SparseMatrix sparse_matrix(const Mixing& mixing) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < mixing.nodes(); ++i) {
    for (const Weight& weight : mixing.row(i)) entries.emplace_back(i, weight.node, weight.value);
  }
  SparseMatrix matrix(mixing.nodes(), mixing.nodes());
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

SparseMatrix laplacian(const Graph& graph) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < graph.nodes(); ++i) {
    entries.emplace_back(i, i, graph.degree(i));
    for (const int j : graph.neighbors(i)) entries.emplace_back(i, j, -1.0);
  }
  SparseMatrix matrix(graph.nodes(), graph.nodes());
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

SparseMatrix adjacency(const Graph& graph) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < graph.nodes(); ++i) {
    for (const int j : graph.neighbors(i)) entries.emplace_back(j, i, 1.0);
  }
  SparseMatrix matrix(graph.nodes(), graph.nodes());
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

namespace {

// Up to this size a dense solver is as fast as any other, and exact to rounding.
constexpr Eigen::Index dense_limit = 500;

bool symmetric(const SparseMatrix& matrix) {
  const SparseMatrix difference = matrix - SparseMatrix(matrix.transpose());
  return difference.norm() <= 1e-12 * (1 + matrix.norm());
}

// The matrix with the eigenvalue of the ones vector moved by `shift`; the others stay, also without
// symmetry.
Eigen::MatrixXd shifted_ones(const SparseMatrix& matrix, double shift) {
  return Eigen::MatrixXd(matrix).array() + shift / static_cast<double>(matrix.rows());
}

double row_sum(const SparseMatrix& matrix) { return matrix.col(0).sum(); }

Extremes sparse_extremes(const SparseMatrix& matrix, double middle) {
  if (const auto translation = Translation::find(matrix)) {
    const auto values = translation->eigenvalues(matrix);
    Extremes extremes{values[1].real(), values[1].real()};
    for (std::size_t k = 2; k < values.size(); ++k) {
      extremes.low = std::min(extremes.low, values[k].real());
      extremes.high = std::max(extremes.high, values[k].real());
    }
    return extremes;
  }
  const double ones = row_sum(matrix);
  Lanczos lanczos(matrix, ones, middle);
  if (const auto quick = lanczos.run(400, 1e-11)) return *quick;
  if (const auto factorised = factorised_extremes(matrix, ones, lanczos.low(), lanczos.high()))
    return *factorised;
  if (const auto slow = lanczos.run(20000, 1e-9)) return *slow;
  throw RunError("the eigenvalues of this large graph lie too close together to be found");
}

double radius_to_rounding(const SparseMatrix& matrix) {
  if (symmetric(matrix)) {
    const Extremes extremes = extremes_besides_ones(matrix);
    return std::max(std::abs(extremes.low), std::abs(extremes.high));
  }
  if (const auto translation = Translation::find(matrix)) {
    double largest = 0;
    const auto values = translation->eigenvalues(matrix);
    for (std::size_t k = 1; k < values.size(); ++k) largest = std::max(largest, std::abs(values[k]));
    return largest;
  }
  if (matrix.rows() > dense_limit) return largest_modulus(matrix);
  const Eigen::EigenSolver<Eigen::MatrixXd> solver(shifted_ones(matrix, -1.0), false);
  return solver.eigenvalues().cwiseAbs().maxCoeff();
}

}  // namespace

Extremes extremes_besides_ones(const SparseMatrix& matrix) {
  // Moves the eigenvalue of the ones vector to the mean of the others, where it cannot be taken for
  // an extreme.
  const Eigen::Index n = matrix.rows();
  const double ones = row_sum(matrix);
  const double middle = (matrix.diagonal().sum() - ones) / static_cast<double>(n - 1);
  if (n > dense_limit) return sparse_extremes(matrix, middle);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(shifted_ones(matrix, middle - ones),
                                                              Eigen::EigenvaluesOnly);
  return {solver.eigenvalues()(0), solver.eigenvalues()(n - 1)};
}

double norm_besides_ones(const SparseMatrix& matrix) {
  const SparseMatrix square = SparseMatrix(matrix.transpose()) * matrix;
  return std::sqrt(std::max(0.0, extremes_besides_ones(square).high));
}

double radius_besides_ones(const SparseMatrix& matrix) {
  const double radius = radius_to_rounding(matrix);
  // Rounding must not make weights that never converge look convergent after 10^15 rounds.
  return std::abs(radius - 1) < 1e-12 ? 1 : radius;
}

}  // namespace veche
