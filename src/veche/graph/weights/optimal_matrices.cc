#include "veche/graph/weights/certificate.h"
#include "veche/graph/weights/optimal_methods.h"
#include "veche/graph/weights/semidefinite.h"

namespace veche {
namespace {

// The data of both blocks, s I - (W - 11'/n) and s I + (W - 11'/n). DSDP borrows them.
struct MatrixBlocks {
  explicit MatrixBlocks(const Graph& graph) : n(graph.nodes()) {
    for (const auto [i, j] : graph.edges()) {
      ends.insert(ends.end(), {i, j});
      signs.insert(signs.end(), {1.0, -1.0});
    }
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) centring.push_back((i == j ? 1.0 : 0.0) - 1.0 / n);
    }
  }

  // Every edge is a matrix of rank one: DSDP then needs only single entries of the inverse.
  void fill(SDPCone cone, int block, double sign) {
    SDPConeSetBlockSize(cone, block, n);
    SDPConeSetStorageFormat(cone, block, 'P');
    SDPConeSetADenseVecMat(cone, block, 0, n, -sign, centring.data(), static_cast<int>(centring.size()));
    const int edges = static_cast<int>(ends.size() / 2);
    for (int e = 0; e < edges; ++e) {
      SDPConeSetARankOneMat(cone, block, e + 1, n, -sign, 0, &ends[2 * static_cast<std::size_t>(e)],
                            &signs[2 * static_cast<std::size_t>(e)], 2);
    }
    SDPConeSetIdentity(cone, block, edges + 1, n, -1.0);
  }

  int n;
  std::vector<int> ends;
  std::vector<double> signs, centring;
};

// The sum of a node's weights is at most 1: one row per node, as columns for DSDP (the constant
// first).
struct NodeRows {
  explicit NodeRows(const Graph& graph) {
    for (int i = 0; i < graph.nodes(); ++i) rows.push_back(i);
    starts = {0, graph.nodes()};
    for (const auto [i, j] : graph.edges()) {
      rows.insert(rows.end(), {i, j});
      starts.push_back(static_cast<int>(rows.size()));
    }
    starts.push_back(static_cast<int>(rows.size()));  // s is in no row
    ones.assign(rows.size(), 1.0);
  }
  std::vector<int> starts, rows;
  std::vector<double> ones;
};

void add_packed(SDPCone cone, int block, double sign, Eigen::MatrixXd& sum) {
  double* packed = nullptr;
  int count = 0;
  SDPConeGetXArray(cone, block, &packed, &count);
  for (int i = 0, k = 0; i < sum.rows(); ++i) {
    for (int j = 0; j <= i; ++j, ++k) {
      sum(i, j) += sign * packed[k];
      if (i != j) sum(j, i) += sign * packed[k];
    }
  }
}

}  // namespace

OptimalWeights optimal_by_matrices(const Graph& graph, Sign sign, std::span<const double> start,
                                   double start_rho) {
  const int edges = static_cast<int>(graph.edges().size());
  MatrixBlocks blocks(graph);
  const NodeRows node_rows(graph);

  SemidefiniteProgram program(edges + 1);
  const SDPCone cone = program.add_semidefinite(2);
  blocks.fill(cone, 0, 1.0);
  blocks.fill(cone, 1, -1.0);
  LPCone rows = nullptr;
  if (sign == Sign::nonnegative) {
    program.keep_nonnegative(edges);
    rows = program.add_linear();
    LPConeSetData(rows, graph.nodes(), node_rows.starts.data(), node_rows.rows.data(), node_rows.ones.data());
  }
  std::vector<double> begin(start.begin(), start.end());
  begin.push_back(start_rho + 0.05);
  OptimalWeights result;
  result.weights = program.minimise_last(begin);
  result.weights.pop_back();

  Eigen::MatrixXd dual = Eigen::MatrixXd::Zero(graph.nodes(), graph.nodes());
  add_packed(cone, 0, 1.0, dual);
  add_packed(cone, 1, -1.0, dual);
  if (sign == Sign::free) {
    result.bound = averaging_bound(graph, std::move(dual));
  } else {
    double* prices = nullptr;
    int count = 0;
    LPConeGetXArray(rows, &prices, &count);
    result.bound = chain_bound(graph, std::move(dual), {prices, static_cast<std::size_t>(count)});
  }
  return result;
}

}  // namespace veche
