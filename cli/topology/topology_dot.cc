// `veche topology --dot`: the graph in DOT, for Graphviz and `file:`.
#include <fmt/format.h>

#include <fstream>

#include "cli/topology/topology_report.h"
#include "veche/errors.h"

namespace veche::cli {
namespace {

std::string quoted(const std::string& words) {
  std::string text = "\"";
  for (const char c : words) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace

// The self-weight is implied: what the edges leave.
std::string to_dot(const TopologyReport& report) {
  const Graph& graph = report.topology->graph();
  const std::vector<std::string>& labels = notes_of(*report.topology).labels;
  const Mixing mixing = mean_mixing(*report.topology);
  const bool directed = graph.kind() == Graph::Kind::directed;
  std::string text =
      fmt::format("{} {} {{\n", directed ? "digraph" : "graph", quoted(report.topology->describe()));
  text += "  node [shape=circle];\n";
  for (int i = 0; i < graph.nodes(); ++i) {
    const std::string label = labels.empty() ? "" : labels[static_cast<std::size_t>(i)];
    text += label.empty() ? fmt::format("  {};\n", i) : fmt::format("  {} [label={}];\n", i, quoted(label));
  }
  for (const auto [from, to] : graph.edges())
    text += fmt::format("  {} {} {} [weight={}];\n", from, directed ? "->" : "--", to,
                        weight_between(mixing, to, from));
  return text + "}\n";
}

void write_dot(const TopologyReport& report, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  if (!(file << to_dot(report) << std::flush))
    throw RequestError("the graph file '" + path + "' cannot be written");
}

}  // namespace veche::cli
