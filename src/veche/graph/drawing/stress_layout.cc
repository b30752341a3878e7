#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "veche/graph/drawing/node_positions.h"
#include "veche/random.h"

namespace veche {
namespace {

Eigen::MatrixXd distances(const Graph& graph) {
  const int count = graph.nodes();
  Eigen::MatrixXd all = Eigen::MatrixXd::Constant(count, count, -1);
  for (int start = 0; start < count; ++start) {
    std::vector<int> queue{start};
    all(start, start) = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const double next = all(start, queue[i]) + 1;
      for (const int node : graph.neighbors(queue[i])) {
        if (all(start, node) >= 0) continue;
        all(start, node) = next;
        queue.push_back(node);
      }
    }
  }
  const double far = std::max(1.0, all.maxCoeff()) + 1;  // distance between unconnected components
  all = (all.array() < 0).select(far, all);
  return all.cwiseMin(all.transpose());
}

// Initial positions by classical scaling: the two directions in which squared distances spread
// most, by a few power iterations.
Eigen::MatrixX2d first_guess(const Eigen::MatrixXd& distance) {
  const Eigen::Index count = distance.rows();
  Eigen::MatrixXd spread = -0.5 * distance.array().square().matrix();
  const Eigen::RowVectorXd means = spread.colwise().mean();
  spread.rowwise() -= means;
  const Eigen::VectorXd row_means = spread.rowwise().mean();
  spread.colwise() -= row_means;
  RandomStream random(1, "layout");
  Eigen::MatrixX2d basis(count, 2);
  for (Eigen::Index i = 0; i < count; ++i) basis.row(i) << random.normal(), random.normal();
  for (int k = 0; k < 60; ++k) {
    basis = spread * basis;
    basis.col(0).normalize();
    basis.col(1) -= basis.col(0).dot(basis.col(1)) * basis.col(0);
    basis.col(1).normalize();
  }
  Eigen::MatrixX2d guess = basis * std::sqrt(static_cast<double>(count)) * 0.5 * distance.mean();
  // Perturb the start: nodes with equal distances to all others would otherwise stay on one spot.
  for (Eigen::Index i = 0; i < count; ++i)
    guess.row(i) += 0.15 * Eigen::RowVector2d(random.normal(), random.normal());
  return guess;
}

}  // namespace

// Stress majorisation: each node moves to the weighted mean of the positions that the other nodes
// ask for, until the positions converge.
std::vector<Point> stress_layout(const Graph& graph) {
  const Eigen::MatrixXd distance = distances(graph);
  Eigen::MatrixX2d place = first_guess(distance);
  const Eigen::Index count = place.rows();
  for (int round = 0; round < (count <= 300 ? 300 : 80); ++round) {
    double moved = 0;
    for (Eigen::Index i = 0; i < count; ++i) {
      Eigen::RowVector2d sum = Eigen::RowVector2d::Zero();
      double total = 0;
      for (Eigen::Index j = 0; j < count; ++j) {
        if (i == j) continue;
        const double weight = 1 / (distance(i, j) * distance(i, j));
        const Eigen::RowVector2d away = place.row(i) - place.row(j);
        const double length = std::max(away.norm(), 1e-9);
        sum += weight * (place.row(j) + distance(i, j) / length * away);
        total += weight;
      }
      const Eigen::RowVector2d next = sum / total;
      moved = std::max(moved, (next - place.row(i)).norm());
      place.row(i) = next;
    }
    if (moved < 1e-3) break;
  }
  std::vector<Point> places;
  for (Eigen::Index i = 0; i < count; ++i) places.push_back({1.4 * place(i, 0), 1.4 * place(i, 1)});
  return places;
}

}  // namespace veche
