// `veche topology recommend`: the graph with the fastest consensus for a number of nodes.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>

#include "cli/terminal/output.h"
#include "cli/terminal/status_line.h"
#include "cli/terminal/text.h"
#include "cli/topology/topology_commands.h"
#include "cli/topology/topology_report.h"
#include "veche/errors.h"
#include "veche/graph/search.h"

namespace veche::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RecommendArguments {
  int nodes = 0, degree = 0;
  std::uint64_t seed = 1;
  bool json = false;
  std::string out;
};

// A graph to compare the result with.
struct Rival {
  std::string name;
  int degree = 0;
  double rho = 1;
};

std::vector<Rival> rivals_of(int nodes) {
  std::vector<Rival> rivals;
  const auto add = [&](const std::string& family, const std::string& rule) {
    TopologyRequest request;
    request.graph = family;
    request.weights = rule;
    request.nodes = nodes;
    try {
      const auto topology = build_topology(request);
      rivals.push_back(
          {topology->describe(), facts_of(topology->graph()).degree_max, topology->contraction().rate});
    } catch (const RequestError&) {  // no torus has a prime number of nodes
    }
  };
  add("ring", "optimal");
  add("torus", "optimal");
  add("exponential", "optimal");
  return rivals;
}

// The ratio of the numbers of rounds.
double advantage(double rho, double other) {
  return rho <= 0 ? INFINITY : convergence_time(other) / convergence_time(rho);
}

std::string times(double advantage) {
  return std::isfinite(advantage) ? fmt::format("{:.2f} x", advantage) : "one is enough";
}

Json as_file(const FoundGraph& found) {
  Json edges = Json::array(), weights = Json::array();
  std::vector<double> own(static_cast<std::size_t>(found.graph.nodes()), 1.0);
  for (std::size_t e = 0; e < found.weights.size(); ++e) {
    const auto [i, j] = found.graph.edges()[e];
    edges.push_back({i, j});
    weights.push_back({i, j, found.weights[e]});
    own[static_cast<std::size_t>(i)] -= found.weights[e];
    own[static_cast<std::size_t>(j)] -= found.weights[e];
  }
  for (std::size_t i = 0; i < own.size(); ++i) weights.push_back({i, i, own[i]});
  return {{"nodes", found.graph.nodes()}, {"edges", edges}, {"weights", weights}};
}

std::function<void(double, double)> shown_on(StatusLine& status) {
  if (!status.on_terminal()) return {};
  const auto start = std::chrono::steady_clock::now();
  return [&status, start](double part, double best) {
    if (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500)) return;
    status.draw("searching", part, fmt::format("rho {:.4f} so far", best));
  };
}

void run_recommend(const RecommendArguments& arguments) {
  StatusLine status;
  const FoundGraph found =
      find_best_graph({arguments.nodes, arguments.degree, arguments.seed, shown_on(status)});
  status.clear();
  if (!arguments.out.empty()) {
    std::ofstream file(arguments.out);
    if (!(file << as_file(found).dump() << '\n' << std::flush)) {
      throw RequestError("the graph file '" + arguments.out + "' cannot be written");
    }
  }
  const std::string graph = !found.spec.empty()      ? found.spec
                            : !arguments.out.empty() ? "file:" + arguments.out
                                                     : "";
  const std::vector<Rival> rivals = rivals_of(arguments.nodes);
  int degree = 0;
  for (int i = 0; i < found.graph.nodes(); ++i) degree = std::max(degree, found.graph.degree(i));
  if (arguments.json) {
    Json json{{"graph", graph.empty() ? Json(nullptr) : Json(graph)},
              {"rule", "optimal"},
              {"degree", degree},
              {"rho", found.rho},
              {"bound", found.bound},
              {"tau", convergence_time(found.rho)},
              {"rounds_to_1e-3", rounds_to_shrink(found.rho, 1e-3)},
              {"rivals", Json::array()}};
    for (const Rival& rival : rivals) {
      const double times = advantage(found.rho, rival.rho);
      json["rivals"].push_back({{"graph", rival.name},
                                {"degree", rival.degree},
                                {"rho", rival.rho},
                                {"times_fewer_rounds", std::isfinite(times) ? Json(times) : Json(nullptr)}});
    }
    json.update(as_file(found));
    answer_json(json);
    return;
  }
  answer("{}, weights optimal: rho {:.6f}, {} rounds to a thousandth, degree {}\n",
         graph.empty() ? "a graph found by search" : graph, found.rho,
         rounds(rounds_to_shrink(found.rho, 1e-3)), degree);
  Table table({"against", "degree", "rho", "rounds to 1/1000", "fewer rounds"});
  for (const Rival& rival : rivals) {
    table.row({rival.name, fmt::format("{}", rival.degree), fmt::format("{:.4f}", rival.rho),
               rounds(rounds_to_shrink(rival.rho, 1e-3)), times(advantage(found.rho, rival.rho))});
  }
  answer("{}", table.text());
  if (graph.empty()) {
    answer(
        "No spec makes this graph: repeat with --out FILE and train with graph = \"file:FILE\", weights = "
        "\"file\".\n");
  } else {
    answer("Train with graph = \"{}\", weights = \"{}\".\n", graph, found.spec.empty() ? "file" : "optimal");
  }
}

}  // namespace

void add_topology_recommend(CLI::App& topology) {
  CLI::App* command = topology.add_subcommand("recommend", "Find the graph with the fastest consensus");
  auto arguments = std::make_shared<RecommendArguments>();
  command->add_option("--nodes", arguments->nodes, "number of nodes")->required();
  command->add_option("--degree", arguments->degree, "maximum number of neighbours per node")->required();
  command->add_option("--seed", arguments->seed, "seed of the search")->capture_default_str();
  command->add_option("--out", arguments->out, "write the graph with its weights to this JSON file")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "one JSON object, with edges and weights");
  command->callback([arguments] { run_recommend(*arguments); });
}

}  // namespace veche::cli
