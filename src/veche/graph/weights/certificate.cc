#include "veche/graph/weights/certificate.h"

#include <algorithm>

namespace veche {
namespace {

// Changes each edge's entry so that its form equals `target` (or is at most that, if `below`).
template <class Target>
void repair(const Graph& graph, Eigen::MatrixXd& dual, bool below, Target target) {
  for (const auto [i, j] : graph.edges()) {
    const double excess = dual(i, i) + dual(j, j) - 2 * dual(i, j) - target(i, j);
    if (below && excess <= 0) continue;
    dual(i, j) += excess / 2;
    dual(j, i) = dual(i, j);
  }
}

double bound(Eigen::MatrixXd& dual, double paid) {
  const Eigen::RowVectorXd columns = dual.colwise().mean();
  dual.rowwise() -= columns;
  const Eigen::VectorXd rows = dual.rowwise().mean();
  dual.colwise() -= rows;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(dual, Eigen::EigenvaluesOnly);
  const double nuclear = solver.eigenvalues().cwiseAbs().sum();
  return nuclear > 0 ? std::max(0.0, (dual.trace() - paid) / nuclear) : 0.0;
}

}  // namespace

double averaging_bound(const Graph& graph, Eigen::MatrixXd dual) {
  repair(graph, dual, false, [](int, int) { return 0.0; });
  return bound(dual, 0.0);
}

double chain_bound(const Graph& graph, Eigen::MatrixXd dual, std::span<const double> prices) {
  std::vector<double> paid(prices.begin(), prices.end());
  double sum = 0;
  for (double& price : paid) sum += price = std::max(price, 0.0);
  repair(graph, dual, true,
         [&](int i, int j) { return paid[static_cast<std::size_t>(i)] + paid[static_cast<std::size_t>(j)]; });
  return bound(dual, sum);
}

}  // namespace veche
