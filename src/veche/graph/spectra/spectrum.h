#pragma once

#include <Eigen/SparseCore>

#include "veche/graph.h"
#include "veche/graph/weights/mixing.h"

namespace veche {

using SparseMatrix = Eigen::SparseMatrix<double>;

SparseMatrix sparse_matrix(const Mixing& mixing);
SparseMatrix laplacian(const Graph& graph);  // of an undirected graph
SparseMatrix adjacency(const Graph& graph);  // 1 at (to, from): who reads whom, as in W

struct Extremes {
  double low = 0;
  double high = 0;
};

// The smallest and the largest eigenvalue of a symmetric matrix whose rows have equal sums, the eigenvector
// of ones left out. Dense for small matrices; Lanczos for large ones, with the matrix factorised only when
// the eigenvalues lie too close together for Lanczos alone.
Extremes extremes_besides_ones(const SparseMatrix& matrix);

// Of any matrix W with W 1 = 1: the largest modulus of its other eigenvalues, and the largest factor by which
// it stretches a vector that sums to zero (W must also keep sums).
double radius_besides_ones(const SparseMatrix& matrix);
double norm_besides_ones(const SparseMatrix& matrix);

}  // namespace veche
