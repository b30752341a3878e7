#include "cli/topology/topology_report.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "veche/base/text/nearest.h"
#include "veche/errors.h"
#include "veche/graph/drawing/picture.h"
#include "veche/graph/topology_kinds.h"
#include "veche/model/zoo.h"

namespace veche::cli {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity: null means never.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Counts the vectors that nodes send, round by round: one per reader.
void count_sends(TopologyReport& report) {
  const Topology& topology = *report.topology;
  const std::uint64_t rounds = sampled_rounds(topology);
  std::vector<double> sends(static_cast<std::size_t>(topology.nodes()), 0.0);
  for (std::uint64_t k = 0; k < rounds; ++k) {
    const auto mixing = topology.at(k);
    for (int i = 0; i < topology.nodes(); ++i) {
      sends[static_cast<std::size_t>(i)] +=
          static_cast<double>(mixing->readers(i).size()) / static_cast<double>(rounds);
    }
    if (topology.period() == 0) continue;
    const NegativeWeights negative = negative_weights(topology.graph(), *mixing);
    report.negative.edges += negative.edges;
    report.negative.own += negative.own;
  }
  for (const double count : sends) {
    report.sends += count;
    report.sends_most = std::max(report.sends_most, count);
  }
  report.sends /= topology.nodes();
}

// Nodes that a file labels.
std::string labels_text(const Topology& topology) {
  constexpr std::size_t kMostRows = 64;
  const std::vector<std::string>& labels = notes_of(topology).labels;
  if (labels.empty()) return "";
  Table table({"label", "node", "degree"});
  for (std::size_t i = 0; i < labels.size() && i < kMostRows; ++i) {
    const int node = static_cast<int>(i);
    table.row({labels[i], std::to_string(i), std::to_string(topology.graph().degree(node))});
  }
  return "\n" + table.text() +
         (labels.size() > kMostRows
              ? fmt::format("  {} of {} nodes; --json has all\n", kMostRows, with_commas(labels.size()))
              : "");
}

double bytes_each(const TopologyReport& report) { return 4.0 * static_cast<double>(*report.parameters); }

}  // namespace

std::uint64_t parameter_count(const std::string& model) {
  std::vector<std::string> names;
  for (const ModelInfo& info : list_models()) {
    if (info.parameters == 0) continue;
    if (info.name == model) return static_cast<std::uint64_t>(info.parameters);
    names.push_back(info.name);
  }
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(model.data(), model.data() + model.size(), count);
  if (error == std::errc{} && end == model.data() + model.size() && count > 0) return count;
  throw RequestError(fmt::format("--model is a number of parameters or a model, not '{}'{}", model,
                                 suggestion(model, names)));
}

std::optional<double> TopologyReport::gap() const {
  const auto bound = topology->bound();
  if (!bound) return std::nullopt;
  return std::max(0.0, contraction.rate - *bound);
}

double TopologyReport::rounds_to_thousandth() const {
  // A period that averages exactly needs its full length.
  if (contraction.residual == 0.0) return static_cast<double>(topology->period());
  return rounds_to_shrink(contraction.rate, 1e-3);
}

void tell_notices(const Topology& topology) {
  for (const std::string& notice : notes_of(topology).notices) tell("note: {}\n", one_line(notice));
}

TopologyReport examine(const TopologyQuestion& question) {
  TopologyReport report;
  if (!question.model.empty()) report.parameters = parameter_count(question.model);
  TopologyRequest request;
  request.graph = question.spec;
  request.weights = question.rule;
  request.directed_allowed = question.directed;
  report.spec = question.spec;
  report.rule = question.rule;
  report.topology = build_topology(request);
  const Graph& graph = report.topology->graph();
  report.facts = facts_of(graph);
  report.contraction = report.topology->contraction();
  if (report.facts.algebraic_connectivity) {
    report.pair_contraction =
        1 - *report.facts.algebraic_connectivity / (2 * static_cast<double>(report.facts.edges));
  }
  count_sends(report);
  return report;
}

Json to_json(const TopologyReport& report) {
  const Topology& topology = *report.topology;
  const GraphFacts& facts = report.facts;
  const double rate = report.contraction.rate;
  Json json{{"spec", report.spec},
            {"rule", report.rule},
            {"nodes", facts.nodes},
            {"edge_count", facts.edges},
            {"directed", topology.graph().kind() == Graph::Kind::directed},
            {"degree", {{"min", facts.degree_min}, {"mean", facts.degree_mean}, {"max", facts.degree_max}}},
            {"diameter", facts.diameter},
            {"diameter_exact", facts.diameter_exact},
            {"connected", true},  // anything else is refused
            {"algebraic_connectivity", maybe(facts.algebraic_connectivity)},
            {"rho", rate},
            {"tau", number(convergence_time(rate))},
            {"rounds_to_1e-3", number(report.rounds_to_thousandth())},
            {"converges", rate < 1},
            {"pair_contraction", maybe(report.pair_contraction)},
            {"parameters", maybe(report.parameters)},
            {"bytes_per_round", nullptr},
            {"bytes_per_round_max", nullptr},
            {"negative_weights", report.negative.edges},
            {"negative_own_weights", report.negative.own},
            {"bound", maybe(topology.bound())},
            {"gap", maybe(report.gap())}};
  if (report.parameters) {
    json["bytes_per_round"] = bytes_each(report) * report.sends;
    json["bytes_per_round_max"] = bytes_each(report) * report.sends_most;
  }
  json["period"] = topology.period();
  json["residual"] = maybe(report.contraction.residual);
  json["estimated"] = report.contraction.estimated;
  Json edges = Json::array(), weights = Json::array();
  for (const auto [from, to] : topology.graph().edges()) edges.push_back({from, to});
  if (topology.period() == 1) {
    const auto mixing = topology.at(0);
    for (int i = 0; i < facts.nodes; ++i) weights.push_back({i, i, weight_between(*mixing, i, i)});
    for (const auto [from, to] : topology.graph().edges()) {
      weights.push_back({from, to, weight_between(*mixing, to, from)});
    }
  }
  if (const auto& labels = notes_of(topology).labels; !labels.empty()) json["labels"] = labels;
  json["edges"] = std::move(edges);
  json["weights"] = std::move(weights);
  return json;
}

std::string rounds(double count) {
  return std::isfinite(count) ? with_commas(static_cast<std::uint64_t>(count)) : "never";
}

std::string rho_text(double rate) {
  return rate < 1 && rate > 0.99999 ? fmt::format("1 - {:.4g}", 1 - rate) : fmt::format("{:.6f}", rate);
}

std::string to_text(const TopologyReport& report) {
  const Topology& topology = *report.topology;
  const GraphFacts& facts = report.facts;
  const double rate = report.contraction.rate;
  std::string text = topology.describe() + "\n";
  const auto row = [&text](const char* name, const std::string& value) {
    text += fmt::format("  {:<26}{}\n", name, value);
  };
  row("nodes", with_commas(static_cast<std::uint64_t>(facts.nodes)));
  row("edges",
      with_commas(facts.edges) + (topology.graph().kind() == Graph::Kind::directed ? ", one way" : ""));
  row("degree", facts.degree_min == facts.degree_max ? fmt::format("{}", facts.degree_min)
                                                     : fmt::format("{} to {}, mean {:.3g}", facts.degree_min,
                                                                   facts.degree_max, facts.degree_mean));
  row("diameter", fmt::format("{}{}", facts.diameter_exact ? "" : "at least ", facts.diameter));
  row("connected", topology.period() == 1 ? "yes" : "yes, over time");
  if (facts.algebraic_connectivity)
    row("algebraic connectivity", fmt::format("{:.6g}", *facts.algebraic_connectivity));
  row("rho", fmt::format("{}{}", rho_text(rate),
                         topology.period() == 1 ? ""
                         : report.contraction.estimated
                             ? " a round, expected (estimated from drawn rounds)"
                             : fmt::format(" a round, over a period of {}", topology.period())));
  if (report.contraction.residual)
    row("left after a period", fmt::format("{:.6g}", *report.contraction.residual));
  if (report.contraction.estimated)
    row("squared distance", fmt::format("x {:.6f} a round, expected", rate * rate));
  row("tau", rate < 1 ? fmt::format("{:.4g} rounds", convergence_time(rate)) : "never");
  row("rounds to a thousandth", rounds(report.rounds_to_thousandth()));
  if (report.pair_contraction)
    row("one random pair at a time", fmt::format("squared distance x {:.6f}", *report.pair_contraction));
  if (report.parameters) {
    row("bytes per round and node",
        fmt::format("{} for {} parameters{}", bytes(bytes_each(report) * report.sends),
                    with_commas(*report.parameters),
                    report.sends_most > report.sends + 1e-9
                        ? fmt::format(", at most {}", bytes(bytes_each(report) * report.sends_most))
                        : ""));
  }
  row("negative weights",
      fmt::format("{}{}", report.negative.edges,
                  report.negative.own > 0 ? fmt::format(", and {} of nodes' own", report.negative.own) : ""));
  if (report.gap()) {
    row("certificate",
        fmt::format("no weights can have a rho below {:.8f} (gap {:.1e})", *topology.bound(), *report.gap()));
  }
  return text + labels_text(topology);
}

Picture picture_of(const TopologyReport& report) {
  TopologyRequest request;
  request.graph = report.spec;
  request.weights = report.rule;
  return veche::picture_of(*report.topology, request);
}

void write_pictures(const TopologyReport& report, const std::string& svg_path, const std::string& png_path) {
  if (svg_path.empty() && png_path.empty()) return;
  const Picture picture = picture_of(report);
  if (!svg_path.empty()) {
    std::ofstream file(svg_path, std::ios::binary);
    if (!(file << to_svg(picture) << std::flush))
      throw RequestError("the picture '" + svg_path + "' cannot be written");
  }
  if (!png_path.empty()) write_png(picture, png_path);
}

}  // namespace veche::cli
