#include "veche/graph/spectrum.h"

#include <Eigen/Dense>

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

namespace {

// W with the eigenvalue of the vector of ones moved to 0; the others stay, whether or not W is symmetric.
Eigen::MatrixXd deflated(const SparseMatrix& matrix) {
  const double sum = matrix.row(0).sum();
  const double n = static_cast<double>(matrix.rows());
  return Eigen::MatrixXd(matrix).array() - sum / n;
}

bool symmetric(const SparseMatrix& matrix) {
  const SparseMatrix difference = matrix - SparseMatrix(matrix.transpose());
  return difference.norm() <= 1e-12 * (1 + matrix.norm());
}

}  // namespace

Extremes extremes_besides_ones(const SparseMatrix& matrix) {
  // Ones become an eigenvalue 0 that could hide the smallest: it is moved to the middle of the others by a
  // shift first.
  const Eigen::Index n = matrix.rows();
  const double sum = matrix.row(0).sum();
  Eigen::MatrixXd dense = deflated(matrix);
  const double middle = (matrix.diagonal().sum() - sum) / static_cast<double>(n - 1);  // mean of the others
  dense.array() += middle / static_cast<double>(n);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(dense, Eigen::EigenvaluesOnly);
  return {solver.eigenvalues()(0), solver.eigenvalues()(n - 1)};
}

double spectral_radius(const Mixing& mixing) {
  const SparseMatrix matrix = sparse_matrix(mixing);
  if (symmetric(matrix)) {
    const Extremes extremes = extremes_besides_ones(matrix);
    return std::max(std::abs(extremes.low), std::abs(extremes.high));
  }
  return Eigen::EigenSolver<Eigen::MatrixXd>(deflated(matrix), false).eigenvalues().cwiseAbs().maxCoeff();
}

}  // namespace veche
