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

// Throws RequestError, with the nearest, when there is no such rule.
void check_rule(std::string_view rule);

// `rule` is one of the weight rules of docs/topologies.md. Throws RequestError: an unknown rule (with the
// nearest), a rule that the graph does not allow, a weights file that does not fit the edges.
Mixing make_mixing(const Graph& graph, std::string_view rule);

// The same, with what is known about the weights' rank among all others on this graph.
struct Weighing {
  Mixing mixing;
  std::optional<double> bound;  // of optimal rules: no weights have a smaller rho
};
Weighing weigh(const Graph& graph, std::string_view rule);

// The same weight in both directions of every edge, the rest kept by the node itself: W = I - sum w_e
// (e_i-e_j)(e_i-e_j)'. `weights` are in the order of graph.edges().
Mixing mixing_from_edges(const Graph& graph, std::span<const double> weights);

// The second largest modulus of W's eigenvalues: the factor by which disagreement shrinks per round. Exactly
// 1 when W's graph is not connected.
double spectral_radius(const Mixing& mixing);

}  // namespace veche
