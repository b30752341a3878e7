#include <algorithm>
#include <cmath>
#include <map>

#include "veche/graph/weights/optimal_methods.h"
#include "veche/graph/weights/semidefinite.h"

namespace veche {
namespace {

// The kinds of edges: an offset and its opposite are one kind.
struct Kinds {
  Kinds(const Graph& graph, const Translation& translation) {
    for (const int hop : graph.neighbors(0)) {
      const int first = std::min(hop, translation.opposite(hop));
      const auto [place, added] = index.try_emplace(first, static_cast<int>(hops.size()));
      if (added) hops.emplace_back();
      hops[static_cast<std::size_t>(place->second)].push_back(hop);
    }
  }
  std::map<int, int> index;            // by the smaller of the two hops
  std::vector<std::vector<int>> hops;  // of each kind: one or two
};

// The eigenvalues of W are 1 - sum_c w_c form(k, c).
struct EigenvalueForms {
  EigenvalueForms(const Translation& translation, const Kinds& kinds) {
    for (int k = 1; k < translation.nodes(); ++k) {
      if (k > translation.opposite(k)) continue;  // its mirror image has the same eigenvalue
      std::vector<double>& row = rows.emplace_back();
      for (const auto& hops : kinds.hops) {
        double sum = 0;
        for (const int hop : hops) sum += 1 - translation.character(k, hop).real();
        row.push_back(sum);
      }
      times.push_back(k == translation.opposite(k) ? 1 : 2);
    }
  }
  std::vector<std::vector<double>> rows;
  std::vector<int> times;  // multiplicity of the eigenvalue
};

// 1 - form w <= s and form w - 1 <= s for every eigenvalue, and for chains sum w <= 1: columns for
// DSDP.
struct Columns {
  Columns(const EigenvalueForms& forms, const Kinds& kinds, Sign sign) {
    const int count = static_cast<int>(forms.rows.size());
    const bool chain = sign == Sign::nonnegative;
    height = 2 * count + (chain ? 1 : 0);
    const auto column = [&](auto upper, auto lower, double last) {
      starts.push_back(static_cast<int>(rows.size()));
      for (int r = 0; r < count; ++r) {
        rows.insert(rows.end(), {2 * r, 2 * r + 1});
        values.insert(values.end(), {upper(static_cast<std::size_t>(r)), lower(static_cast<std::size_t>(r))});
      }
      if (chain && last != 0) {
        rows.push_back(2 * count);
        values.push_back(last);
      }
    };
    column([](std::size_t) { return -1.0; }, [](std::size_t) { return 1.0; }, 1.0);
    for (std::size_t c = 0; c < kinds.hops.size(); ++c) {
      column([&](std::size_t r) { return -forms.rows[r][c]; },
             [&](std::size_t r) { return forms.rows[r][c]; }, static_cast<double>(kinds.hops[c].size()));
    }
    column([](std::size_t) { return -1.0; }, [](std::size_t) { return -1.0; }, 0.0);
    starts.push_back(static_cast<int>(rows.size()));
  }
  int height = 0;
  std::vector<int> starts, rows;
  std::vector<double> values;
};

// The bound of certificate.h in terms of the eigenvalues z_k of Z (with multiplicity): the form of
// a kind of edge is (2/n) sum_k z_k (1 - cos), and changing the entries of Z on a kind by t changes
// z_k by t sum cos.
double bound(const EigenvalueForms& forms, const Kinds& kinds, int nodes, std::vector<double> z, double price,
             bool chain) {
  const std::vector<double> given = z;
  for (std::size_t c = 0; c < kinds.hops.size(); ++c) {
    const double size = static_cast<double>(kinds.hops[c].size());
    double form = 0;
    for (std::size_t r = 0; r < z.size(); ++r)
      form += 2.0 / nodes * forms.times[r] * given[r] * forms.rows[r][c] / size;
    const double excess = form - (chain ? 2 * price : 0.0);
    if (chain && excess <= 0) continue;
    for (std::size_t r = 0; r < z.size(); ++r) z[r] += excess / 2 * (size - forms.rows[r][c]);
  }
  double trace = 0, nuclear = 0;
  for (std::size_t r = 0; r < z.size(); ++r) {
    trace += forms.times[r] * z[r];
    nuclear += forms.times[r] * std::abs(z[r]);
  }
  return nuclear > 0 ? std::max(0.0, (trace - nodes * price) / nuclear) : 0.0;
}

}  // namespace

OptimalWeights optimal_by_eigenvalues(const Graph& graph, const Translation& translation, Sign sign) {
  const Kinds kinds(graph, translation);
  const EigenvalueForms forms(translation, kinds);
  const Columns columns(forms, kinds, sign);
  const int count = static_cast<int>(kinds.hops.size());

  SemidefiniteProgram program(count + 1);
  const LPCone cone = program.add_linear();
  LPConeSetData(cone, columns.height, columns.starts.data(), columns.rows.data(), columns.values.data());
  if (sign == Sign::nonnegative) program.keep_nonnegative(count);
  std::vector<double> start(static_cast<std::size_t>(count), 1.0 / (1 + graph.degree(0)));
  start.push_back(1.05);
  const std::vector<double> answer = program.minimise_last(start);

  OptimalWeights result;
  for (const auto [i, j] : graph.edges()) {
    const int hop = translation.moved(j, translation.opposite(i));
    const int kind = kinds.index.at(std::min(hop, translation.opposite(hop)));
    result.weights.push_back(answer[static_cast<std::size_t>(kind)]);
  }
  double* multipliers = nullptr;
  int length = 0;
  LPConeGetXArray(cone, &multipliers, &length);
  std::vector<double> z;
  for (std::size_t r = 0; r < forms.rows.size(); ++r) {
    z.push_back((multipliers[2 * r] - multipliers[2 * r + 1]) / forms.times[r]);
  }
  const bool chain = sign == Sign::nonnegative;
  const double price = chain ? std::max(0.0, multipliers[length - 1]) / graph.nodes() : 0.0;
  result.bound = bound(forms, kinds, graph.nodes(), std::move(z), price, chain);
  return result;
}

}  // namespace veche
