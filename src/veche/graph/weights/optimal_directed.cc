#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include "veche/graph/weights/optimal_methods.h"
#include "veche/graph/weights/semidefinite.h"

namespace veche {
namespace {

using Complex = std::complex<double>;

// The eigenvalues of W are 1 - sum_c w_c form(k, c). Those of k and its opposite are conjugate, so
// one of them is enough.
struct DirectedForms {
  DirectedForms(const Translation& translation, const std::vector<std::vector<int>>& kinds) {
    for (int k = 1; k < translation.nodes(); ++k) {
      if (k > translation.opposite(k)) continue;
      std::vector<Complex>& row = rows.emplace_back();
      for (const auto& hops : kinds) {
        Complex sum = 0;
        for (const int hop : hops) sum += 1.0 - translation.character(k, hop);
        row.push_back(sum);
      }
      times.push_back(k == translation.opposite(k) ? 1 : 2);
    }
  }
  std::vector<std::vector<Complex>> rows;
  std::vector<int> times;
};

// |z| <= s as [[s + re, im], [im, s - re]] >= 0: one small block per eigenvalue. DSDP borrows the
// arrays.
struct DirectedBlocks {
  DirectedBlocks(SDPCone cone, const DirectedForms& forms, int kinds) {
    values.reserve(forms.rows.size() * static_cast<std::size_t>(kinds + 2));
    const auto set = [&](int block, int variable, Complex z) {
      values.push_back({z.real(), z.imag(), -z.real()});
      SDPConeSetASparseVecMat(cone, block, variable, 2, 1.0, 0, places.data(), values.back().data(), 3);
    };
    for (std::size_t r = 0; r < forms.rows.size(); ++r) {
      const int block = static_cast<int>(r);
      SDPConeSetBlockSize(cone, block, 2);
      SDPConeSetStorageFormat(cone, block, 'P');
      set(block, 0, 1.0);
      for (int c = 0; c < kinds; ++c) set(block, c + 1, forms.rows[r][static_cast<std::size_t>(c)]);
      SDPConeSetIdentity(cone, block, kinds + 1, 2, -1.0);
    }
  }
  std::array<int, 3> places{0, 1, 2};
  std::vector<std::array<double, 3>> values;
};

// The sum of a node's weights, sum size_c w_c <= 1: one row, as columns for DSDP (the constant
// first).
struct OneRow {
  explicit OneRow(const std::vector<std::vector<int>>& kinds) : values{1.0} {
    for (const auto& hops : kinds) values.push_back(static_cast<double>(hops.size()));
    rows.assign(values.size(), 0);
    for (std::size_t k = 0; k <= values.size(); ++k) starts.push_back(static_cast<int>(k));
    starts.push_back(starts.back());  // s is not in the row
  }
  std::vector<int> starts, rows;
  std::vector<double> values;
};

// The bound of certificate.h for complex eigenvalues: any numbers z_k give
//   rho sum |z| >= -sum Re(eigenvalue conj z) = -sum Re z + sum_c w_c r_c,
//   r_c = sum_k Re(form(k, c) conj z_k),
// and z is moved along the characters until r_c = 0 (or, for chains, r_c >= -price for every hop).
double bound(const DirectedForms& forms, const std::vector<std::vector<int>>& kinds, int nodes,
             std::vector<Complex> z, double price, bool chain) {
  const std::vector<Complex> given = z;
  for (std::size_t c = 0; c < kinds.size(); ++c) {
    const double size = static_cast<double>(kinds[c].size());
    double rest = chain ? price * size : 0.0;
    for (std::size_t r = 0; r < z.size(); ++r) {
      rest += forms.times[r] * (forms.rows[r][c] * std::conj(given[r])).real();
    }
    if (chain && rest >= 0) continue;
    for (std::size_t r = 0; r < z.size(); ++r) z[r] += rest / (nodes * size) * (size - forms.rows[r][c]);
  }
  double value = -price, total = 0;
  for (std::size_t r = 0; r < z.size(); ++r) {
    value -= forms.times[r] * z[r].real();
    total += forms.times[r] * std::abs(z[r]);
  }
  return total > 0 ? std::max(0.0, value / total) : 0.0;
}

}  // namespace

OptimalWeights optimal_by_characters(const Graph& graph, const Translation& translation, Sign sign,
                                     bool one_weight) {
  std::vector<std::vector<int>> kinds;
  for (const int hop : graph.neighbors(0)) {
    if (kinds.empty() || !one_weight) kinds.emplace_back();
    kinds.back().push_back(hop);
  }
  const int count = static_cast<int>(kinds.size());
  const bool chain = sign == Sign::nonnegative;
  const DirectedForms forms(translation, kinds);
  const OneRow row(kinds);
  SemidefiniteProgram program(count + 1);
  const SDPCone cone = program.add_semidefinite(static_cast<int>(forms.rows.size()));
  const DirectedBlocks blocks(cone, forms, count);
  LPCone rows = nullptr;
  if (chain) {
    program.keep_nonnegative(count);
    rows = program.add_linear();
    LPConeSetData(rows, 1, row.starts.data(), row.rows.data(), row.values.data());
  }
  std::vector<double> start(static_cast<std::size_t>(count), 1.0 / (1 + graph.degree(0)));
  start.push_back(1.05);
  const std::vector<double> answer = program.minimise_last(start);

  OptimalWeights result;
  for (const auto [from, to] : graph.edges()) {
    const int hop = translation.moved(to, translation.opposite(from));
    const auto kind = std::ranges::find_if(
        kinds, [hop](const auto& hops) { return std::ranges::find(hops, hop) != hops.end(); });
    result.weights.push_back(answer[static_cast<std::size_t>(kind - kinds.begin())]);
  }
  std::vector<Complex> z;
  for (std::size_t r = 0; r < forms.rows.size(); ++r) {
    double* dual = nullptr;
    int length = 0;
    SDPConeGetXArray(cone, static_cast<int>(r), &dual, &length);
    z.push_back(Complex(dual[0] - dual[2], 2 * dual[1]) / static_cast<double>(forms.times[r]));
  }
  double price = 0;
  if (chain) {
    double* dual = nullptr;
    int length = 0;
    LPConeGetXArray(rows, &dual, &length);
    price = std::max(0.0, dual[0]);
  }
  result.bound = bound(forms, kinds, graph.nodes(), std::move(z), price, chain);
  return result;
}

}  // namespace veche
