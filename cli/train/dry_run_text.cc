#include <fmt/format.h>

#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "cli/topology/topology_report.h"
#include "cli/train/dry_run.h"

namespace veche::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string line(const std::string& name, const std::string& text) {
  return fmt::format("  {:<12} {}\n", name, one_line(text));
}

std::string batch_text(const Json& batch) {
  if (batch.is_object()) return fmt::format("{} to {}", batch["least"].get<int>(), batch["most"].get<int>());
  return std::to_string(batch.get<int>());
}

std::string steps_text(const Json& plan) {
  const auto steps = plan["steps"].get<std::uint64_t>();
  std::string text = with_commas(steps);
  if (const auto each = plan["steps_per_epoch"].get<double>(); each > 0)
    text += fmt::format(", {:.3g} epochs", static_cast<double>(steps) / each);
  if (!plan["batch"].is_null())
    text += fmt::format("; {} samples per node and step", batch_text(plan["batch"]));
  return text;
}

std::string bytes_text(const Json& plan) {
  const Json& sent = plan["bytes"];
  std::string text = fmt::format("{} per node and step", bytes(sent["per_node_and_step"].get<double>()));
  if (sent["busiest_node_and_step"] != sent["per_node_and_step"])
    text += fmt::format(" ({} of the busiest)", bytes(sent["busiest_node_and_step"].get<double>()));
  if (const auto activations = sent["activations_per_step"].get<double>(); activations > 0)
    text += fmt::format(", activations of {} per step", bytes(activations));
  return text + fmt::format(", {} in all", bytes(sent["whole_run"].get<double>()));
}

}  // namespace

std::string plan_text(const Json& plan) {
  const bool is_virtual = plan["virtual_time"].get<bool>();
  const auto nodes = plan["nodes"].get<int>(), stages = plan["stages"].get<int>();
  const Json& time = plan["time"];
  std::string text = "The plan; nothing was written.\n";
  text +=
      line("nodes", stages == 1 ? std::to_string(nodes)
                                : fmt::format("{}, {} models of {} stages", nodes, nodes / stages, stages));
  text += line("strategy", plan["strategy"].get<std::string>());
  if (!plan["topology"].is_null())
    text += line("graph", fmt::format("{}, rho {}", plan["topology"].get<std::string>(),
                                      rho_text(plan["rho"].get<double>())));
  if (!plan["codec"].is_null()) text += line("codec", plan["codec"].get<std::string>());
  text += line("model", fmt::format("{}, {} parameters", plan["model"].get<std::string>(),
                                    with_commas(plan["parameters"].get<std::uint64_t>())));
  if (!plan["data"].is_null()) text += line("data", plan["data"].get<std::string>());
  text += line("steps", steps_text(plan));
  text += line("sends", bytes_text(plan));
  text += line("memory",
               fmt::format("{} at the peak of this process, {} per node with its share of the libraries",
                           bytes(plan["memory"]["process_peak_bytes"].get<double>()),
                           bytes(plan["memory"]["per_node_bytes"].get<double>())));
  text += line("time",
               fmt::format("{} a step, {} of {}training, without tests",
                           duration(time["seconds_per_step"].get<double>()),
                           duration(time["training_seconds"].get<double>()), is_virtual ? "virtual " : ""));
  text += line("folder", plan["folder"].get<std::string>());
  const auto measured = plan["measured"]["steps"].get<std::uint64_t>();
  return text + fmt::format("Bytes, memory and time are measured on {} step{}{}.\n", measured,
                            measured == 1 ? "" : "s",
                            is_virtual ? "; the time is that of the simulated network" : " on this machine");
}

}  // namespace veche::cli
