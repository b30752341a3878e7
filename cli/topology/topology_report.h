#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "veche/graph/drawing/picture.h"
#include "veche/graph/facts.h"
#include "veche/graph/topology.h"

namespace veche::cli {

// Everything `veche topology` tells about one graph with its weights.
struct TopologyReport {
  std::string spec, rule;
  std::shared_ptr<const Topology> topology;
  GraphFacts facts;
  Contraction contraction;
  NegativeWeights negative;                // over a period
  double sends = 0;                        // to how many neighbours a node sends per round, on average
  double sends_most = 0;                   // the busiest node
  std::optional<double> pair_contraction;  // one random edge at a time; undirected graphs only
  std::optional<std::uint64_t> parameters;

  std::optional<double> gap() const;  // between rho and the bound of optimal weights
  double rounds_to_thousandth() const;
};

struct TopologyQuestion {
  std::string spec;
  std::string rule = "metropolis";
  std::string model;  // a name, a number of parameters, or nothing
  bool directed = false;
};

// Tells on standard error what was mended in the graph's files.
void tell_notices(const Topology& topology);

TopologyReport examine(const TopologyQuestion& question);

nlohmann::ordered_json to_json(const TopologyReport& report);
std::string to_text(const TopologyReport& report);

// Of a model known by name, or the number itself.
std::uint64_t parameter_count(const std::string& model);

std::string rounds(double count);   // "96", "never"
std::string rho_text(double rate);  // six digits, or how far it is from 1

// Of rounds that differ, the mean is what a picture can show.
Mixing mean_mixing(const Topology& topology);

Picture picture_of(const TopologyReport& report);
// SVG or PNG by function; throws RequestError when the file cannot be written.
void write_pictures(const TopologyReport& report, const std::string& svg_path, const std::string& png_path);
// DOT, which Graphviz draws and `file:` reads back; weights and labels included.
std::string to_dot(const TopologyReport& report);
void write_dot(const TopologyReport& report, const std::string& path);

}  // namespace veche::cli
