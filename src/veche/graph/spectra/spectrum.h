#pragma once

#include <Eigen/SparseCore>

#include "veche/graph.h"
#include "veche/topology.h"

namespace veche {

using SparseMatrix = Eigen::SparseMatrix<double>;

SparseMatrix sparse_matrix(const Mixing& mixing);
SparseMatrix laplacian(const Graph& graph);  // of an undirected graph
SparseMatrix adjacency(const Graph& graph);  // 1 at (to, from): row reads column, as in W

struct Extremes {
  double low = 0;
  double high = 0;
};

// The smallest and largest eigenvalue of a symmetric matrix with equal row sums, without that of
// the ones vector. Dense for small matrices. Large ones use Lanczos, and a factorisation only if
// the eigenvalues lie too close together for Lanczos alone.
Extremes extremes_besides_ones(const SparseMatrix& matrix);

// For any matrix W with W 1 = 1: the largest modulus of its other eigenvalues, and its largest gain
// on vectors that sum to zero (W must also preserve sums).
double radius_besides_ones(const SparseMatrix& matrix);
double norm_besides_ones(const SparseMatrix& matrix);

}  // namespace veche
