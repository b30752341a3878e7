#pragma once

#include <Eigen/Dense>
#include <span>

#include "veche/graph.h"

namespace veche {

// A proof that no weights can have a rho below some number. For any symmetric Z,
//   <Z, W - 11'/n> <= |Z|_nuclear rho(W), on the vectors that sum to zero,
// and when Z_ii + Z_jj = 2 Z_ij on every edge the left side is the same for all weights: <Z, I - 11'/n>.
// A solver's approximate dual Z is repaired so that this holds exactly; a bad Z gives a weak bound, never a
// false one.
double averaging_bound(const Graph& graph, Eigen::MatrixXd dual);

// For non-negative weights it is enough that Z_ii + Z_jj - 2 Z_ij <= y_i + y_j, with prices y >= 0 of what a
// node hands out; their sum is taken off.
double chain_bound(const Graph& graph, Eigen::MatrixXd dual, std::span<const double> prices);

}  // namespace veche
