#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/graph.h"

namespace veche {

// What a spec is read with.
struct SpecContext {
  std::optional<int> nodes;       // the cluster's; fills in a number of nodes that the spec leaves out
  std::uint64_t seed = 1;         // for random graphs without @SEED
  bool directed_allowed = false;  // else a file's one-way edges are refused
};

// A spec of one graph come true.
struct SpecGraph {
  std::string name;        // complete: "torus:6x6", also when the spec was "torus"
  std::string family;      // "torus"
  std::vector<int> shape;  // the numbers of the spec, such as the sides of a torus
  Graph graph;
  std::vector<std::string> labels = {};  // what a file calls its nodes; empty: they have only numbers
  std::string notice = {};               // what was mended when a file was read; empty: nothing
};

// Reads the spec of one graph that does not change; see docs/topologies.md. Throws RequestError.
SpecGraph read_spec(std::string_view spec, const SpecContext& context);

// The number of nodes of a spec that has no other number, such as one-peer-exponential:N.
int spec_nodes(std::string_view spec, const SpecContext& context);

// Throws RequestError when a graph has another number of nodes than the cluster.
void check_nodes(std::string_view spec, int nodes, const SpecContext& context);

// The names before the colon, for messages and completions.
std::span<const std::string> spec_families();

}  // namespace veche
