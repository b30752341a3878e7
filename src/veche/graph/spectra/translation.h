#pragma once

#include <complex>
#include <optional>
#include <vector>

#include "veche/graph/spectra/spectrum.h"

namespace veche {

// A matrix that looks the same from every node: moving along any side of a box of nodes (numbered row by row,
// wrapping round) leaves it unchanged. Rings, tori, hypercubes, complete and exponential graphs are such.
// Their eigenvalues need no solver, and their best weights depend only on how far an edge goes.
class Translation {
 public:
  // Empty when no box of the size of the matrix fits.
  static std::optional<Translation> find(const SparseMatrix& matrix);

  int nodes() const { return nodes_; }
  // The node reached from `node` by the step that leads from 0 to `hop`, and the step back.
  int moved(int node, int hop) const;
  int opposite(int hop) const;
  // The k-th character at `hop`: exp(2 pi i (sum of k_d hop_d / side_d)).
  std::complex<double> character(int k, int hop) const;
  // All n eigenvalues of a matrix with this symmetry; number 0 belongs to the vector of ones.
  std::vector<std::complex<double>> eigenvalues(const SparseMatrix& matrix) const;

 private:
  explicit Translation(std::vector<int> sides);
  bool leaves_unchanged(const SparseMatrix& matrix) const;

  std::vector<int> sides_;
  int nodes_;
};

}  // namespace veche
