#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veche/graph.h"

namespace veche {

// Context in which a spec is read.
struct SpecContext {
  std::optional<int> nodes;       // size of the cluster; used if the spec gives no number of nodes
  std::uint64_t seed = 1;         // for random graphs without @SEED
  bool directed_allowed = false;  // false: directed edges in a file are refused
};

// The graph of a spec.
struct SpecGraph {
  std::string name;        // complete: "torus:6x6", even if the spec was "torus"
  std::string family;      // "torus"
  std::vector<int> shape;  // the numbers of the spec, such as the sides of a torus
  Graph graph;
  std::vector<std::string> labels = {};  // node labels from a file; empty if nodes have only numbers
  std::string notice = {};               // repairs made while reading a file; empty if none
};

// Reads the spec of one static graph; see docs/topologies.md. Throws RequestError.
SpecGraph read_spec(std::string_view spec, const SpecContext& context);

// The number of nodes of a spec without other numbers, such as one-peer-exponential:N.
int spec_nodes(std::string_view spec, const SpecContext& context);

// Throws RequestError if the graph's number of nodes differs from the cluster's.
void check_nodes(std::string_view spec, int nodes, const SpecContext& context);

// The names before the colon, for messages and completions.
std::span<const std::string> spec_families();

}  // namespace veche
