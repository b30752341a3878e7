#pragma once

#include <Eigen/Dense>
#include <span>

#include "veche/graph.h"

namespace veche {

// A proven lower bound on the rho of all weights on a graph. For any symmetric Z,
//   <Z, W - 11'/n> <= |Z|_nuclear rho(W), on the vectors that sum to zero,
// and if Z_ii + Z_jj = 2 Z_ij on every edge, the left side is the same for all weights: <Z, I -
// 11'/n>. A solver's approximate dual Z is repaired so that the condition holds exactly. A bad Z
// gives a weak bound, never a false one.
double averaging_bound(const Graph& graph, Eigen::MatrixXd dual);

// For non-negative weights it suffices that Z_ii + Z_jj - 2 Z_ij <= y_i + y_j, with prices y >= 0
// on the sum of a node's weights. The sum of the prices is subtracted.
double chain_bound(const Graph& graph, Eigen::MatrixXd dual, std::span<const double> prices);

}  // namespace veche
