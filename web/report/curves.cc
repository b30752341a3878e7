// The curves of a report: one for each configuration.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "web/report/report.h"

namespace veche::web {
namespace {

using Value = std::function<std::optional<double>(const RunRecord& run, std::size_t measurement)>;

std::string of(const Words& words) { return capitalised(words).english; }

// A value of every seed at a measurement; empty if one of them has none.
std::vector<double> of_seeds(const RunGroup& group, std::size_t measurement, const Value& value) {
  std::vector<double> values;
  for (const RunRecord& run : group.runs)
    if (const auto found = value(run, measurement)) values.push_back(*found);
  if (values.size() < group.runs.size()) values.clear();
  return values;
}

// How many measurements all seeds have made at the same steps.
std::size_t common_measurements(const RunGroup& group) {
  std::size_t count = group.runs.front().metrics.size();
  for (const RunRecord& run : group.runs) count = std::min(count, run.metrics.size());
  for (std::size_t i = 0; i < count; ++i)
    for (const RunRecord& run : group.runs)
      if (run.metrics[i].at("step") != group.runs.front().metrics[i].at("step")) return i;
  return count;
}

Curve curve_of(const Finding& finding, const Value& x, const Value& y) {
  Curve curve{.name = finding.name(), .x = {}, .y = {}, .color = finding.color};
  const RunGroup& group = *finding.group;
  const bool several = group.runs.size() > 1;
  const std::size_t count = common_measurements(group);
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<double> across = of_seeds(group, i, x), up = of_seeds(group, i, y);
    if (across.empty() || up.empty()) continue;
    const Spread spread = spread_of(up);
    curve.x.push_back(spread_of(across).mean);
    curve.y.push_back(spread.mean);
    if (!several) continue;
    curve.low.push_back(spread.min);
    curve.high.push_back(spread.max);
  }
  return curve;
}

// The unit in which the largest of some numbers of bytes has up to three digits before the point.
std::pair<double, const char*> byte_unit(double most) {
  constexpr std::array<std::pair<double, const char*>, 5> kUnits{
      {{1e12, "terabytes"}, {1e9, "gigabytes"}, {1e6, "megabytes"}, {1e3, "kilobytes"}, {1, "bytes"}}};
  for (const auto& unit : kUnits)
    if (most >= unit.first) return unit;
  return kUnits.back();
}

// Costs of which one is many times another need a logarithmic axis, if every curve can be on it.
bool far_apart(const std::vector<Curve>& curves) {
  double least = 0, most = 0;
  for (const Curve& curve : curves) {
    if (curve.x.empty() || curve.x.back() <= 0) return false;
    const double at = curve.ring ? curve.ring->first : curve.x.back();
    if (at <= 0) return false;
    if (least == 0 || at < least) least = at;
    most = std::max(most, at);
  }
  return most > 5 * least;
}

std::optional<double> result_at(const RunRecord& run, std::size_t i, const Measure& measure) {
  const auto value = number(run.metrics[i], {"average_model", std::string(measure.name).c_str()});
  return value ? std::optional(measure.scale() * *value) : std::nullopt;
}

// The result of a task against steps, seconds or bytes.
Chart of_result(const Findings& findings, const Measure& measure, const Value& x,
                const std::optional<Spread> Finding::*cost, double scale) {
  Chart chart;
  chart.y_name = measure.unit == "%" ? "per cent of the test set" : std::string(measure.title);
  for (const Finding& finding : findings.all) {
    if (&main_measure(finding.first().task()) != &measure) continue;
    Curve curve =
        curve_of(finding, x, [&](const RunRecord& run, std::size_t i) { return result_at(run, i, measure); });
    if (curve.x.empty()) continue;
    if (cost != nullptr && finding.*cost && finding.result_at_goal)
      curve.ring = {(finding.*cost)->mean * scale, finding.result_at_goal->mean * measure.scale()};
    chart.curves.push_back(std::move(curve));
  }
  if (cost != nullptr && findings.goal) chart.goal = *findings.goal * measure.scale();
  return chart;
}

Chart of_all(const Findings& findings, const Value& x, const Value& y) {
  Chart chart;
  for (const Finding& finding : findings.all)
    if (Curve curve = curve_of(finding, x, y); !curve.x.empty()) chart.curves.push_back(std::move(curve));
  return chart;
}

}  // namespace

std::vector<NamedChart> charts(const Findings& ranked) {
  Findings findings = ranked;
  std::ranges::sort(findings.all, {}, &Finding::color);  // legends have the order in which runs were named

  const auto of_line = [](std::initializer_list<const char*> path, double scale) -> Value {
    return [keys = std::vector(path), scale](const RunRecord& run, std::size_t i) -> std::optional<double> {
      const auto found =
          keys.size() == 1 ? number(run.metrics[i], {keys[0]}) : number(run.metrics[i], {keys[0], keys[1]});
      return found ? std::optional(scale * *found) : std::nullopt;
    };
  };
  const Value step = of_line({"step"}, 1), seconds = of_line({"seconds"}, 1);
  double most = 0;
  for (const Finding& finding : findings.all)
    for (const RunRecord& run : finding.group->runs)
      if (!run.sent.empty()) most = std::max(most, run.sent.back());
  const auto [unit, unit_name] = byte_unit(most);
  const Value sent = [unit = unit](const RunRecord& run, std::size_t i) {
    return std::optional(run.sent[i] / unit);
  };

  std::vector<NamedChart> all;
  const auto add = [&](const std::string& file, const std::string& title, const std::string& axis,
                       Chart chart) {
    chart.title = title;
    chart.x_name = axis;
    if (!chart.curves.empty()) all.push_back({file, std::move(chart)});
  };
  for (const Task task : findings.tasks) {
    const Measure& measure = main_measure(task);
    add(std::string(measure.name), of(title_of(measure)) + " of the averaged model", "steps",
        of_result(findings, measure, step, nullptr, 1));
  }
  Chart loss = of_all(findings, step, of_line({"train", "loss"}, 1));
  const bool entropy = std::ranges::find(findings.tasks, Task::regression) == findings.tasks.end();
  loss.y_name = entropy ? "cross entropy" : "mean loss";
  add("loss", "Loss while training", "steps", std::move(loss));
  Chart apart = of_all(findings, step, of_line({"cv"}, 100));
  apart.y_name = "per cent of the model's length";
  apart.logarithmic = true;
  add("disagreement", "How far the nodes differ", "steps", std::move(apart));
  for (const Task task : findings.tasks) {
    const Measure& measure = main_measure(task);
    const std::string name(measure.name), title = of(title_of(measure));
    add(name + "-seconds", title + " over time",
        findings.virtual_time() ? "virtual seconds of training" : "seconds of training",
        of_result(findings, measure, seconds, &Finding::seconds_to_goal, 1));
    Chart bytes = of_result(findings, measure, sent, &Finding::bytes_to_goal, 1 / unit);
    bytes.x_logarithmic = far_apart(bytes.curves);
    add(name + "-bytes", title + " over bytes",
        fmt::format("{} sent by all nodes{}", unit_name, bytes.x_logarithmic ? ", logarithmic" : ""),
        std::move(bytes));
  }
  return all;
}

}  // namespace veche::web
