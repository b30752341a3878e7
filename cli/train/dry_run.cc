// `veche train --dry-run`: what a run would do and cost, from its plan and from its first steps.
#include "cli/train/dry_run.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "cli/process/own_process.h"
#include "cli/topology/topology_report.h"
#include "veche/errors.h"
#include "veche/graph/topology.h"
#include "veche/runtime/record/run_folder.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/run/training.h"

namespace veche::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kUsualSteps = 10;
constexpr double kSlowStart = 4;  // seconds of a process that makes one step; above, few steps are measured

TrainingRequest request_of(const Settings& settings, const std::atomic<bool>& interrupted) {
  return {.settings = settings, .interrupted = &interrupted, .keep = false};
}

// Of the nodes with data; unequal ones have the least and the most.
Json batch_of(const RunPlan& plan) {
  if (plan.training.own_data()) return nullptr;
  std::size_t least = 0, most = 0;
  for (std::size_t node = 0; node < static_cast<std::size_t>(plan.replicas()); ++node) {
    if (!plan.training.samples.has_data(node)) continue;
    const std::size_t batch = plan.training.samples.batch(node);
    least = least == 0 ? batch : std::min(least, batch);
    most = std::max(most, batch);
  }
  return least == most ? Json(most) : Json{{"least", least}, {"most", most}};
}

// What is known without a step.
Json known_facts(const Settings& settings, const std::atomic<bool>& interrupted) {
  const std::unique_ptr<const RunPlan> plan = plan_request(request_of(settings, interrupted));
  Json json{
      {"nodes", settings.nodes()},
      {"stages", plan->stages()},
      {"virtual_time", plan->simulation.has_value()},
      {"strategy", plan->training.strategy.name},
      {"topology", nullptr},
      {"rho", nullptr},
      {"codec", plan->training.compression ? Json(plan->training.compression->spec.word()) : Json(nullptr)},
      {"batch", batch_of(*plan)},
      {"steps", plan->training.steps},
      {"steps_per_epoch", plan->training.steps_per_epoch}};
  if (const auto& topology = plan->training.topology) {
    json["topology"] = topology->describe();
    json["rho"] = topology->contraction().rate;
  }
  return json;
}

// Steps after which the strategy's exchanges repeat.
std::uint64_t period_of(const Settings& settings) {
  std::uint64_t period = 1;
  for (const char* key : {"every", "period"})
    if (const auto& all = settings.strategy.all(); all.contains(key))
      if (const auto* steps = std::get_if<std::int64_t>(&all.at(key).data); steps != nullptr && *steps > 0)
        period = std::max(period, static_cast<std::uint64_t>(*steps));
  return period;
}

// Makes the first steps in this process.
Json measure(const Settings& settings, std::uint64_t steps, const std::atomic<bool>& interrupted) {
  TrainingRequest request = request_of(settings, interrupted);
  request.trial_steps = steps;
  const auto start = std::chrono::steady_clock::now();
  const RunResult result = run_training(request);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (result.last.stopped == StopReason::interrupted) throw RunError("the dry run was interrupted");
  std::uint64_t most = 0, activations = 0;
  for (const NodeReport& node : result.last.nodes) {
    most = std::max(most, node.sent.bytes);
    activations += node.stage.sent.bytes;
  }
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return {{"model", result.info.model},
          {"data", result.info.data},
          {"parameters", result.info.parameters},
          {"steps", result.last.step},
          {"bytes_sent", total_sent(result.last).bytes},
          {"messages", total_sent(result.last).messages},
          {"most_bytes", most},
          {"activation_bytes", activations},
          {"seconds", result.last.seconds},
          {"wall_seconds", took.count()},
          {"peak_bytes", static_cast<std::uint64_t>(used.ru_maxrss) * 1024}};
}

// Steps to measure: whole periods of the strategy, fewer if they would take long.
std::uint64_t steps_to_measure(const Settings& settings, std::uint64_t steps, bool is_slow) {
  const std::uint64_t period = period_of(settings);
  if (is_slow) return std::min(steps, std::max<std::uint64_t>(2, period));
  return std::min(steps, (std::max(kUsualSteps, period) + period - 1) / period * period);
}

// Of the second and later steps: the first one also prepares the engine, which a run does once.
// Virtual time has no such step.
double seconds_per_step(const Json& first, const Json& measured, bool is_virtual) {
  const auto one = first["seconds"].get<double>(), all = measured["seconds"].get<double>();
  const double steps = std::max(measured["steps"].get<double>(), 1.0);
  return is_virtual || steps < 2 || all <= one ? all / steps : (all - one) / (steps - 1);
}

}  // namespace

Json plan_of(const Settings& settings, const std::atomic<bool>& interrupted) {
  const std::string folder = RunFolder::planned(settings).string();
  // A process each: the engine of virtual time runs once per process.
  const auto trial = [&](std::uint64_t steps) {
    return in_process_of_its_own([&] { return measure(settings, steps, interrupted); }, interrupted);
  };
  Json plan = in_process_of_its_own([&] { return known_facts(settings, interrupted); }, interrupted);
  const auto steps = plan["steps"].get<std::uint64_t>();
  const Json first = trial(std::min<std::uint64_t>(steps, 1));
  const std::uint64_t count =
      steps_to_measure(settings, steps, first["wall_seconds"].get<double>() > kSlowStart);
  const Json measured = count > 1 ? trial(count) : first;

  const double done = std::max(measured["steps"].get<double>(), 1.0), all = static_cast<double>(steps);
  const auto nodes = plan["nodes"].get<double>();
  const double per_step = measured["bytes_sent"].get<double>() / done;
  const double seconds = seconds_per_step(first, measured, plan["virtual_time"].get<bool>());
  plan["model"] = measured["model"];
  plan["parameters"] = measured["parameters"];
  plan["data"] = measured["data"].get<std::string>().empty() ? Json(nullptr) : measured["data"];
  plan["bytes"] = {{"per_node_and_step", per_step / nodes},
                   {"busiest_node_and_step", measured["most_bytes"].get<double>() / done},
                   {"activations_per_step", measured["activation_bytes"].get<double>() / done},
                   {"whole_run", per_step * all}};
  plan["memory"] = {{"process_peak_bytes", measured["peak_bytes"]},
                    {"per_node_bytes", measured["peak_bytes"].get<double>() / nodes}};
  plan["time"] = {{"seconds_per_step", seconds}, {"training_seconds", seconds * all}};
  for (const char* key : {"steps", "bytes_sent", "messages", "seconds"})
    plan["measured"][key] = measured[key];
  plan["folder"] = folder;
  return plan;
}

}  // namespace veche::cli
