#pragma once

#include "veche/graph/spectra/translation.h"
#include "veche/graph/weights/optimal.h"

namespace veche {

// The ways to optimal weights; `start` are weights with rho below 1, strictly inside the constraints. What
// they return has its bound; rho is left to the caller.

// Interior point on the semidefinite programme, two blocks of n x n.
OptimalWeights optimal_by_matrices(const Graph& graph, Sign sign, std::span<const double> start,
                                   double start_rho);

// Where the graph looks the same from every node, edges of one kind share a weight and the programme becomes
// a linear one in the eigenvalues.
OptimalWeights optimal_by_eigenvalues(const Graph& graph, const Translation& translation, Sign sign);

// The same for directed graphs that look the same from every node, whose eigenvalues are complex: one weight
// for each step, or one for all.
OptimalWeights optimal_by_characters(const Graph& graph, const Translation& translation, Sign sign,
                                     bool one_weight);

}  // namespace veche
