// `veche topology compare`: several graphs side by side.
#include <fmt/format.h>

#include <memory>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "cli/topology/topology_commands.h"
#include "cli/topology/topology_report.h"

namespace veche::cli {
namespace {

struct CompareArguments {
  std::vector<std::string> specs;
  TopologyQuestion question;
  bool json = false;
};

void run_compare(const CompareArguments& arguments) {
  std::vector<TopologyReport> reports;
  for (const std::string& spec : arguments.specs) {
    TopologyQuestion question = arguments.question;
    question.spec = spec;
    reports.push_back(examine(question));
    tell_notices(*reports.back().topology);
  }
  if (arguments.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const TopologyReport& report : reports) {
      nlohmann::ordered_json row = to_json(report);
      row.erase("edges");  // relevant for one graph, not for a table
      row.erase("weights");
      row.erase("labels");
      rows.push_back(std::move(row));
    }
    answer_json(nlohmann::ordered_json{{"topologies", rows}});
    return;
  }
  const bool sized = !arguments.question.model.empty();
  std::vector<std::string> head{"graph, weights", "nodes", "edges", "degree",
                                "diameter",       "rho",   "tau",   "rounds to 1/1000"};
  if (sized) head.emplace_back("sent to agree");
  Table table(head);
  for (const TopologyReport& report : reports) {
    const double rate = report.contraction.rate;
    const double count = report.rounds_to_thousandth();
    std::vector<std::string> row{
        report.topology->describe(),
        with_commas(static_cast<std::uint64_t>(report.facts.nodes)),
        with_commas(report.facts.edges),
        report.facts.degree_min == report.facts.degree_max
            ? fmt::format("{}", report.facts.degree_max)
            : fmt::format("{}-{}", report.facts.degree_min, report.facts.degree_max),
        fmt::format("{}{}", report.facts.diameter_exact ? "" : ">=", report.facts.diameter),
        fmt::format("{:.4f}", rate),
        rate < 1 ? fmt::format("{:.1f}", convergence_time(rate)) : "never",
        rounds(count)};
    if (sized) row.push_back(bytes(4.0 * static_cast<double>(*report.parameters) * report.sends * count));
    table.row(std::move(row));
  }
  answer("{}", table.text());
}

}  // namespace

void add_topology_compare(CLI::App& topology) {
  CLI::App* command = topology.add_subcommand("compare", "Compare several graphs");
  auto arguments = std::make_shared<CompareArguments>();
  command->add_option("graphs", arguments->specs, "one or more graphs")->type_name("GRAPH")->required();
  command->add_option("--weights", arguments->question.rule, "the weight rule for all graphs")
      ->type_name("RULE")
      ->capture_default_str();
  command
      ->add_option("--model", arguments->question.model,
                   "also show the bytes a node sends until disagreement is 1/1000")
      ->type_name("MODEL");
  command->add_flag("--directed", arguments->question.directed, "allow directed edges, for push-sum");
  command->add_flag("--json", arguments->json, "one JSON object");
  command->callback([arguments] { run_compare(*arguments); });
}

}  // namespace veche::cli
