#include "veche/graph/weights/optimal.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/errors.h"
#include "veche/graph/spectra/spectrum.h"
#include "veche/graph/weights/mixing.h"
#include "veche/graph/weights/optimal_methods.h"

namespace veche {
namespace {

std::vector<double> metropolis_start(const Graph& graph) {
  std::vector<double> weights;
  for (const auto [i, j] : graph.edges())
    weights.push_back(1.0 / (1 + std::max(graph.degree(i), graph.degree(j))));
  return weights;
}

double rho_of(const Graph& graph, std::span<const double> weights) {
  return spectral_radius(mixing_from_edges(graph, weights));
}

bool inside(const Graph& graph, std::span<const double> weights, Sign sign) {
  if (sign == Sign::free) return true;
  std::vector<double> kept(static_cast<std::size_t>(graph.nodes()), 1.0);
  for (std::size_t e = 0; e < weights.size(); ++e) {
    const auto [i, j] = graph.edges()[e];
    kept[static_cast<std::size_t>(i)] -= weights[e];
    kept[static_cast<std::size_t>(j)] -= weights[e];
  }
  return std::ranges::min(weights) >= 0 && std::ranges::min(kept) >= -1e-12;
}

// On many symmetric graphs a constant weight is optimal. It is preferred then: it is exact to
// rounding and shorter to write.
void prefer_constant(const Graph& graph, Sign sign, OptimalWeights& result) {
  const Extremes extremes = extremes_besides_ones(laplacian(graph));
  const std::vector<double> constant(graph.edges().size(), 2 / (extremes.low + extremes.high));
  const double rho = (extremes.high - extremes.low) / (extremes.high + extremes.low);
  if (rho > result.rho + 1e-7 || !inside(graph, constant, sign)) return;
  result.weights = constant;
  result.rho = rho;
}

constexpr std::size_t most_edges = 6000;

Translation directed_translation(const Graph& graph) {
  if (const auto translation = Translation::find(adjacency(graph))) return *translation;
  throw RequestError(
      "optimal and best-constant weights need edges that go both ways, or a directed graph that looks the "
      "same "
      "from every node, as exponential:N does: use metropolis or uniform");
}

}  // namespace

double best_constant_weight(const Graph& graph) {
  if (graph.kind() == Graph::Kind::directed) {
    return optimal_by_characters(graph, directed_translation(graph), Sign::free, true).weights[0];
  }
  const Extremes extremes = extremes_besides_ones(laplacian(graph));
  return 2 / (extremes.low + extremes.high);
}

OptimalWeights optimal_weights(const Graph& graph, Sign sign) {
  OptimalWeights result;
  if (graph.kind() == Graph::Kind::directed) {
    result = optimal_by_characters(graph, directed_translation(graph), sign, false);
    result.rho = rho_of(graph, result.weights);
    result.bound = std::min(result.bound, result.rho);
    return result;
  }
  if (const auto translation = Translation::find(laplacian(graph))) {
    result = optimal_by_eigenvalues(graph, *translation, sign);
  } else {
    if (graph.edges().size() > most_edges) {
      throw RequestError(
          fmt::format("optimal weights for {} edges would take too long (at most {} on a graph without "
                      "symmetry): use best-constant or metropolis",
                      graph.edges().size(), most_edges));
    }
    const std::vector<double> start = metropolis_start(graph);
    result = optimal_by_matrices(graph, sign, start, rho_of(graph, start));
  }
  result.rho = rho_of(graph, result.weights);
  prefer_constant(graph, sign, result);
  result.bound = std::min(result.bound, result.rho);
  return result;
}

}  // namespace veche
