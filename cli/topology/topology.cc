// `veche topology`: the convergence rate of a graph, and a picture of it.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/terminal/output.h"
#include "cli/topology/topology_commands.h"
#include "cli/topology/topology_network.h"
#include "cli/topology/topology_report.h"
#include "veche/errors.h"
#include "veche/graph/weights/mixing.h"

namespace veche::cli {
namespace {

struct TopologyArguments {
  TopologyQuestion question;
  bool json = false;
  std::string svg, png, dot;
  std::string network;  // a configuration whose simulated network to show instead
};

void run_topology(const TopologyArguments& arguments) {
  if (!arguments.network.empty()) {
    if (!arguments.question.spec.empty())
      throw RequestError("`veche topology --network` draws a network: leave out the graph " +
                         arguments.question.spec);
    if (!arguments.dot.empty())
      throw RequestError("--dot writes a graph: draw a network with --svg or --png");
    return show_network({arguments.network, arguments.json, arguments.svg, arguments.png});
  }
  if (arguments.question.spec.empty())
    throw RequestError("`veche topology` needs a graph, as in veche topology torus:6x6");
  const TopologyReport report = examine(arguments.question);
  tell_notices(*report.topology);
  write_pictures(report, arguments.svg, arguments.png);
  if (!arguments.dot.empty()) write_dot(report, arguments.dot);
  if (report.contraction.rate >= 1) {
    tell_sentence(
        "warning: with these weights the nodes never agree (rho is 1); metropolis always converges");
  }
  if (arguments.json) {
    answer_json(to_json(report));
  } else {
    answer("{}", to_text(report));
  }
}

}  // namespace

void add_topology(CLI::App& app) {
  CLI::App* command = app.add_subcommand("topology", "Convergence rate of a graph, and a picture of it");
  auto arguments = std::make_shared<TopologyArguments>();
  command
      ->add_option("graph", arguments->question.spec,
                   "ring:8, torus:6x6, file:PATH ...; see docs/topologies.md")
      ->type_name("GRAPH");
  command
      ->add_option("--weights", arguments->question.rule,
                   "metropolis, metropolis-hastings, max-degree, best-constant, optimal, "
                   "optimal-nonnegative, uniform, "
                   "file:PATH")
      ->type_name("RULE")
      ->capture_default_str();
  command
      ->add_option("--model", arguments->question.model,
                   "a model or a number of parameters, to show bytes per round")
      ->type_name("MODEL");
  command->add_flag("--directed", arguments->question.directed, "allow directed edges, for push-sum");
  command->add_flag("--json", arguments->json, "one JSON object, with edges and weights");
  command->add_option("--svg", arguments->svg, "write a picture of the graph to this file")
      ->type_name("FILE");
  command->add_option("--png", arguments->png, "write a picture of the graph to this file")
      ->type_name("FILE");
  command->add_option("--dot", arguments->dot, "write the graph in DOT format, for Graphviz, to this file")
      ->type_name("FILE");
  command
      ->add_option("--network", arguments->network,
                   "show the simulated network of this configuration instead of a graph")
      ->type_name("FILE");
  add_topology_compare(*command);
  add_topology_recommend(*command);
  command->callback([command, arguments] {
    if (command->get_subcommands().empty()) run_topology(*arguments);
  });
}

}  // namespace veche::cli
