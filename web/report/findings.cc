#include "web/report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "veche/errors.h"
#include "veche/runtime/registry.h"

namespace veche::web {
namespace {

// Settings without influence, and those that have a column of their own.
bool has_no_say(const std::string& key) { return key == "run.name" || key == "run.out" || key == "run.seed"; }
bool has_a_column(const std::string& key) {
  return key == "strategy.name" || key == "topology.graph" || key == "compress.codec";
}

// "ring:4" of the summary's "ring:4, metropolis"; empty for a strategy without a graph.
std::string graph_of(const RunRecord& run) {
  if (run.ended) {
    const std::string words = run.text("topology");
    return words.substr(0, words.rfind(", "));
  }
  try {
    if (!find_strategy(run.text("strategy")).uses_topology()) return "";
  } catch (const Error&) {  // of a module
  }
  return config_value(run.config, "topology", "graph");
}

std::optional<double> result_at(const RunRecord& run, const Json& line) {
  return number(line, {"average_model", std::string(main_measure(run.task()).name).c_str()});
}

std::optional<double> best_of(const RunRecord& run) {
  const Measure& measure = main_measure(run.task());
  std::optional<double> best;
  for (const Json& line : run.metrics)
    if (const auto value = result_at(run, line); value && (!best || reaches(measure, *value, *best)))
      best = value;
  return best;
}

// The goal of run.target, as a value of the main measure.
std::optional<double> target_of(const RunRecord& run) {
  const auto number_in = [](const std::string& text) -> std::optional<double> {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  };
  if (const auto older = number_in(config_value(run.config, "run", "target_accuracy")); older && *older > 0)
    return run.task() == Task::regression ? std::nullopt : older;
  const std::string target = config_value(run.config, "run", "target");
  if (const auto plain = number_in(target)) return plain;
  const std::size_t blank = target.find_first_of(" <>="), last = target.find_last_of(" <>=");
  if (blank == std::string::npos || target.substr(0, blank) != main_measure(run.task()).name)
    return std::nullopt;
  return number_in(target.substr(last + 1));
}

std::optional<double> common_target(const std::vector<RunGroup>& groups) {
  const auto first = target_of(groups.front().runs.front());
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs)
      if (target_of(run) != first) return std::nullopt;
  return first;
}

// A round value that is no better.
double eased(const Measure& measure, double value) {
  // Whether a run gets all right is often decided by a single sample.
  if (measure.unit == "%") return std::min(0.95, std::floor(value * 20 + 1e-9) / 20);
  if (value == 0) return value;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 1);
  const double digits = value / unit;
  return unit * (measure.up ? std::floor(digits + 1e-9) : std::ceil(digits - 1e-9));
}

// What more than half of the configurations, and at least two, have reached with all their seeds.
std::optional<double> reached_by_most(const std::vector<RunGroup>& groups, const Measure& measure) {
  std::vector<double> reached;
  for (const RunGroup& group : groups) {
    std::optional<double> worst;
    bool all = true;
    for (const RunRecord& run : group.runs) {
      const auto best = best_of(run);
      all = all && best;
      if (best && (!worst || reaches(measure, *worst, *best))) worst = best;
    }
    if (all && worst) reached.push_back(*worst);
  }
  if (reached.empty()) return std::nullopt;
  std::ranges::sort(reached, [&](double a, double b) { return a != b && reaches(measure, a, b); });
  const std::size_t enough = std::max<std::size_t>(1, groups.size() / 2);
  const double goal = eased(measure, reached[std::min(enough, reached.size() - 1)]);
  return measure.unit == "%" && goal <= 0 ? std::nullopt : std::optional(goal);
}

// The number of the first measurement that reaches the goal.
std::optional<std::size_t> reached_at(const RunRecord& run, double goal) {
  const Measure& measure = main_measure(run.task());
  for (std::size_t i = 0; i < run.metrics.size(); ++i)
    if (const auto value = result_at(run, run.metrics[i]); value && reaches(measure, *value, goal)) return i;
  return std::nullopt;
}

void add_costs(Finding& finding, double goal) {
  for (const RunRecord& run : finding.group->runs)
    if (!reached_at(run, goal)) return;
  const RunGroup& group = *finding.group;
  finding.bytes_to_goal =
      over_runs(group, [&](const RunRecord& run) { return std::optional(run.sent[*reached_at(run, goal)]); });
  finding.seconds_to_goal = over_runs(
      group, [&](const RunRecord& run) { return number(run.metrics[*reached_at(run, goal)], {"seconds"}); });
  finding.result_at_goal = over_runs(
      group, [&](const RunRecord& run) { return result_at(run, run.metrics[*reached_at(run, goal)]); });
}

// Settings that differ between the configurations that have them, in the order of the files: a
// strategy's own keys differ only between runs of this strategy.
std::vector<std::string> differing_settings(const std::vector<RunGroup>& groups) {
  std::vector<std::string> order;
  std::map<std::string, std::set<std::string>> values;
  for (const RunGroup& group : groups)
    for (const auto& [key, value] : settings_of(group.runs.front().config)) {
      if (has_no_say(key)) continue;
      if (values[key].empty()) order.push_back(key);
      values[key].insert(value);
    }
  std::erase_if(order, [&](const std::string& key) { return values[key].size() == 1; });
  return order;
}

}  // namespace

bool reaches(const Measure& measure, double value, double other) {
  return measure.up ? value >= other : value <= other;
}

bool Findings::virtual_time() const {
  return std::ranges::all_of(all, [](const Finding& one) { return one.virtual_time; });
}

Finding finding_of(const RunGroup& group, std::optional<double> goal) {
  Finding finding;
  finding.group = &group;
  const RunRecord& first = group.runs.front();
  const std::string measure(main_measure(first.task()).name),
      codec = config_value(first.config, "compress", "codec");
  finding.strategy = first.text("strategy");
  finding.graph = graph_of(first);
  finding.codec = codec.empty() ? "none" : codec;
  finding.virtual_time = std::ranges::all_of(
      group.runs, [](const RunRecord& run) { return run.summary.contains("wall_seconds"); });
  finding.result = over_runs(group, {measure.c_str(), "average_model"});
  finding.seconds = over_runs(group, {"seconds"});
  finding.bytes = over_runs(group, bytes_sent);
  finding.loss = over_runs(group, {"train_loss"});
  finding.disagreement = over_runs(group, {"disagreement", "cv"});
  finding.speed = over_runs(group, throughput);
  if (goal) add_costs(finding, *goal);
  return finding;
}

Findings findings_of(const std::vector<RunGroup>& groups) {
  Findings findings;
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs)
      if (std::ranges::find(findings.tasks, run.task()) == findings.tasks.end())
        findings.tasks.push_back(run.task());
  findings.differing = differing_settings(groups);
  const Measure& measure = findings.measure();
  if (findings.tasks.size() == 1) {
    findings.goal = common_target(groups);
    if (!findings.goal) findings.goal = reached_by_most(groups, measure);
  }
  for (const RunGroup& group : groups) {
    Finding finding = finding_of(group, findings.goal);
    finding.color = findings.all.size();
    for (const auto& setting : settings_of(finding.first().config))
      if (!has_a_column(setting.first) &&
          std::ranges::find(findings.differing, setting.first) != findings.differing.end())
        finding.others.push_back(setting);
    findings.all.push_back(std::move(finding));
  }
  std::ranges::stable_sort(findings.all, [&](const Finding& a, const Finding& b) {
    if (a.bytes_to_goal && b.bytes_to_goal && a.bytes_to_goal->mean != b.bytes_to_goal->mean)
      return a.bytes_to_goal->mean < b.bytes_to_goal->mean;
    if (a.bytes_to_goal && b.bytes_to_goal && a.seconds_to_goal && b.seconds_to_goal)
      return a.seconds_to_goal->mean < b.seconds_to_goal->mean;
    if (a.bytes_to_goal.has_value() != b.bytes_to_goal.has_value()) return a.bytes_to_goal.has_value();
    if (a.result && b.result && findings.tasks.size() == 1)
      return a.result->mean != b.result->mean && reaches(measure, a.result->mean, b.result->mean);
    return false;
  });
  return findings;
}

}  // namespace veche::web
