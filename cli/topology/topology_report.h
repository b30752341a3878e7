#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "veche/graph/drawing/topology_picture.h"
#include "veche/graph/facts.h"
#include "veche/graph/topology.h"

namespace veche::cli {

// Everything that `veche topology` reports about a graph with weights.
struct TopologyReport {
  std::string spec, rule;
  std::shared_ptr<const Topology> topology;
  GraphFacts facts;
  Contraction contraction;
  NegativeWeights negative;                // over a period
  double sends = 0;                        // neighbours that a node sends to per round, on average
  double sends_most = 0;                   // of the busiest node
  std::optional<double> pair_contraction;  // one random edge per round; undirected graphs only
  std::optional<std::uint64_t> parameters;

  std::optional<double> gap() const;  // between rho and the bound of optimal weights
  double rounds_to_thousandth() const;
};

struct TopologyQuestion {
  std::string spec;
  std::string rule = "metropolis";
  std::string model;  // a name, a number of parameters, or empty
  bool directed = false;
};

// Prints on standard error what was repaired in the graph's files.
void tell_notices(const Topology& topology);

TopologyReport examine(const TopologyQuestion& question);

nlohmann::ordered_json to_json(const TopologyReport& report);
std::string to_text(const TopologyReport& report);

// The parameters of a named model, or the number itself.
std::uint64_t parameter_count(const std::string& model);

std::string rounds(double count);   // "96", "never"
std::string rho_text(double rate);  // six digits, or the distance from 1

Picture picture_of(const TopologyReport& report);
// Writes SVG and PNG files; throws RequestError if a file cannot be written.
void write_pictures(const TopologyReport& report, const std::string& svg_path, const std::string& png_path);
// DOT for Graphviz, which `file:` reads back, with weights and labels.
std::string to_dot(const TopologyReport& report);
void write_dot(const TopologyReport& report, const std::string& path);

}  // namespace veche::cli
