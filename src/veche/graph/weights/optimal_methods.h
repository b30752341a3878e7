#pragma once

#include "veche/graph/spectra/translation.h"
#include "veche/graph/weights/optimal.h"

namespace veche {

// The solvers for optimal weights. `start` are weights with rho below 1, strictly inside the
// constraints. The results have their bound; the caller computes rho.

// Interior point method on the semidefinite programme, two blocks of n x n.
OptimalWeights optimal_by_matrices(const Graph& graph, Sign sign, std::span<const double> start,
                                   double start_rho);

// If the graph looks the same from every node, edges of one kind share a weight, and the programme
// becomes linear in the eigenvalues.
OptimalWeights optimal_by_eigenvalues(const Graph& graph, const Translation& translation, Sign sign);

// The same for directed graphs, whose eigenvalues are complex: one weight per offset, or one for
// all.
OptimalWeights optimal_by_characters(const Graph& graph, const Translation& translation, Sign sign,
                                     bool one_weight);

}  // namespace veche
