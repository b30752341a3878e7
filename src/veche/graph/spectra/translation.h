#pragma once

#include <complex>
#include <optional>
#include <vector>

#include "veche/graph/spectra/spectrum.h"

namespace veche {

// The symmetry of a matrix that looks the same from every node: a shift along any side of a
// periodic box of nodes (numbered row by row) leaves it unchanged. Rings, tori, hypercubes,
// complete and exponential graphs have it. Their eigenvalues need no solver, and their best weights
// depend only on the offset of an edge.
class Translation {
 public:
  // Returns nullopt if no box of the matrix's size fits.
  static std::optional<Translation> find(const SparseMatrix& matrix);

  int nodes() const { return nodes_; }
  // The node at offset `hop` from `node`, and the opposite offset.
  int moved(int node, int hop) const;
  int opposite(int hop) const;
  // The k-th character at `hop`: exp(2 pi i (sum of k_d hop_d / side_d)).
  std::complex<double> character(int k, int hop) const;
  // All n eigenvalues of a matrix with this symmetry; number 0 belongs to the ones vector.
  std::vector<std::complex<double>> eigenvalues(const SparseMatrix& matrix) const;

 private:
  explicit Translation(std::vector<int> sides);
  bool leaves_unchanged(const SparseMatrix& matrix) const;

  std::vector<int> sides_;
  int nodes_;
};

}  // namespace veche
