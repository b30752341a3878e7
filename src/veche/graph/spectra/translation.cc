#include "veche/graph/spectra/translation.h"

#include <cmath>
#include <numbers>

namespace veche {

Translation::Translation(std::vector<int> sides) : sides_(std::move(sides)), nodes_(1) {
  for (const int side : sides_) nodes_ *= side;
}

int Translation::moved(int node, int hop) const {
  int result = 0;
  int stride = nodes_;
  for (const int side : sides_) {
    stride /= side;
    result += (node / stride % side + hop / stride % side) % side * stride;
  }
  return result;
}

int Translation::opposite(int hop) const {
  int result = 0;
  int stride = nodes_;
  for (const int side : sides_) {
    stride /= side;
    result += (side - hop / stride % side) % side * stride;
  }
  return result;
}

std::complex<double> Translation::character(int k, int hop) const {
  double turns = 0;
  int stride = nodes_;
  for (const int side : sides_) {
    stride /= side;
    const long long product = static_cast<long long>(k / stride % side) * (hop / stride % side);
    turns += static_cast<double>(product % side) / side;
  }
  return std::polar(1.0, 2 * std::numbers::pi * turns);
}

bool Translation::leaves_unchanged(const SparseMatrix& matrix) const {
  int stride = nodes_;
  for (const int side : sides_) {
    stride /= side;
    for (int column = 0; column < nodes_; ++column) {
      const int next = moved(column, stride);
      for (SparseMatrix::InnerIterator entry(matrix, column); entry; ++entry) {
        const double there = matrix.coeff(moved(static_cast<int>(entry.row()), stride), next);
        if (std::abs(there - entry.value()) > 1e-12) return false;
      }
    }
  }
  return true;
}

std::optional<Translation> Translation::find(const SparseMatrix& matrix) {
  const int nodes = static_cast<int>(matrix.rows());
  const auto filled = [&](int column) { return matrix.col(column).nonZeros(); };
  for (int column = 1; column < nodes; ++column) {  // a cheap test that rejects most matrices
    if (filled(column) != filled(0)) return std::nullopt;
  }
  std::vector<std::vector<int>> boxes{{nodes}};
  for (int a = 2; a <= nodes / 2; ++a) {
    if (nodes % a != 0) continue;
    boxes.push_back({a, nodes / a});
    for (int b = 2; b <= nodes / a / 2; ++b) {
      if (nodes / a % b == 0) boxes.push_back({a, b, nodes / a / b});
    }
  }
  if ((nodes & (nodes - 1)) == 0) {
    boxes.emplace_back();
    for (int rest = nodes; rest > 1; rest /= 2) boxes.back().push_back(2);
  }
  for (std::vector<int>& box : boxes) {
    Translation translation(std::move(box));
    if (translation.leaves_unchanged(matrix)) return translation;
  }
  return std::nullopt;
}

std::vector<std::complex<double>> Translation::eigenvalues(const SparseMatrix& matrix) const {
  std::vector<std::complex<double>> values(static_cast<std::size_t>(nodes_));
  for (int k = 0; k < nodes_; ++k) {
    for (SparseMatrix::InnerIterator entry(matrix, 0); entry; ++entry) {
      values[static_cast<std::size_t>(k)] += entry.value() * character(k, static_cast<int>(entry.row()));
    }
  }
  return values;
}

}  // namespace veche
