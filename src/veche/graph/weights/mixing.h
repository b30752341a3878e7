#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/topology.h"

namespace veche {

// The names of the weight rules, for messages and completions.
std::span<const std::string> weight_rules();

// Throws RequestError, suggesting the nearest rule, if the rule does not exist.
void check_rule(std::string_view rule);

// `rule` is a weight rule of docs/topologies.md. Throws RequestError for an unknown rule (with the
// nearest one), a rule that the graph does not allow, or a weights file that does not fit the
// edges.
Mixing make_mixing(const Graph& graph, std::string_view rule);

// Weights with a bound on the best weights of this graph.
struct Weighing {
  Mixing mixing;
  std::optional<double> bound;  // optimal rules only: no weights have a smaller rho
};
Weighing weigh(const Graph& graph, std::string_view rule);

// The same weight in both directions of every edge; a node keeps the rest: W = I - sum w_e
// (e_i-e_j)(e_i-e_j)'. `weights` are in the order of graph.edges().
Mixing mixing_from_edges(const Graph& graph, std::span<const double> weights);

// The second largest modulus of W's eigenvalues: the factor by which disagreement shrinks per
// round. Exactly 1 if W's graph is not connected.
double spectral_radius(const Mixing& mixing);

}  // namespace veche
