// The tables and charts of a report; page.cc has the page around them.
#include <fmt/format.h>

#include <algorithm>

#include "web/report/report.h"

namespace veche::web {
namespace {

std::string quantity(double value, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t step = 0;
  while (value >= 1000 && step + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++step;
  }
  return fmt::format("{:.4g} {}{}", value, kPrefixes[step], unit);
}

std::string percent(const std::optional<double>& part, int digits = 2) {
  return part ? fmt::format("{:.{}f} %", 100 * *part, digits) : "";
}

// Over seeds if there are several, otherwise over the nodes of the single run.
std::string accuracy_of(const RunGroup& group) {
  const auto mean = over_runs(group, {"accuracy", "mean"});
  if (!mean) return "";
  const auto of_nodes = over_runs(group, {"accuracy", "std"});
  const double std = mean->count > 1 ? mean->std : of_nodes ? of_nodes->mean : 0;
  return fmt::format("{:.2f} ± {:.2f} %", 100 * mean->mean, 100 * std);
}

std::string average_of(const RunGroup& group) {
  const auto found = over_runs(group, {"accuracy", "average_model"});
  if (!found) return "";
  return found->count > 1 ? fmt::format("{:.2f} ± {:.2f} %", 100 * found->mean, 100 * found->std)
                          : percent(found->mean);
}

std::string mean_of(const RunGroup& group, std::initializer_list<const char*> path, const char* format) {
  const auto found = over_runs(group, path);
  return found ? fmt::format(fmt::runtime(format), found->mean) : "";
}

std::string endings(const RunGroup& group) {
  std::vector<std::string> ways;
  for (const RunRecord& run : group.runs) {
    const std::string way = run.ended ? run.text("stopped") : "not ended";
    if (std::ranges::find(ways, way) == ways.end()) ways.push_back(way);
  }
  return fmt::format("{}", fmt::join(ways, ", "));
}

double bytes_at(const Json& line) {
  double bytes = 0;
  if (const auto nodes = line.find("nodes"); nodes != line.end() && nodes->is_array())
    for (const Json& node : *nodes) bytes += number(node, {"bytes_sent"}).value_or(0);
  return bytes;
}

std::string cell(const std::optional<double>& value) { return value ? fmt::format("{:.10g}", *value) : ""; }

}  // namespace

Sheet overview(const std::vector<RunGroup>& groups) {
  Sheet sheet({"run", "strategy", "graph", "model", "nodes", "seeds", "steps", "accuracy of the nodes",
               "averaged model", "train loss", "disagreement", "seconds", "images/s", "sent", "ended"},
              4);
  for (const RunGroup& group : groups) {
    const RunRecord& first = group.runs.front();
    const auto seconds = over_runs(group, {"seconds"});
    const auto bytes = over_runs(group, {"bytes_sent"});
    const auto cv = over_runs(group, {"disagreement", "cv"});
    sheet.row({group.name, first.text("strategy"), first.text("topology"), first.text("model"),
               mean_of(group, {"nodes"}, "{:.0f}"), std::to_string(group.runs.size()),
               mean_of(group, {"steps"}, "{:.0f}"), accuracy_of(group), average_of(group),
               mean_of(group, {"train_loss"}, "{:.4f}"), cv ? fmt::format("{:.3g} %", 100 * cv->mean) : "",
               !seconds ? ""
                        : (seconds->count > 1 ? fmt::format("{:.4g} ± {:.2g}", seconds->mean, seconds->std)
                                              : fmt::format("{:.4g}", seconds->mean)) +
                              (first.summary.contains("wall_seconds") ? " virtual" : ""),
               mean_of(group, {"images_per_second"}, "{:.0f}"), bytes ? quantity(bytes->mean, "B") : "",
               endings(group)});
  }
  return sheet;
}

Sheet nodes_of(const RunRecord& run, std::size_t most_rows) {
  Sheet sheet({"node", "test accuracy", "train loss", "from the mean", "steps", "computing s", "waiting s",
               "communicating s", "staleness", "sent"});
  const auto nodes = run.summary.find("per_node");
  if (nodes == run.summary.end() || !nodes->is_array()) return sheet;
  for (std::size_t i = 0; i < std::min(nodes->size(), most_rows); ++i) {
    const Json& node = (*nodes)[i];
    const auto fixed = [&](const char* key) {
      const auto value = number(node, {key});
      return value ? fmt::format("{:.2f}", *value) : std::string();
    };
    const auto loss = number(node, {"train", "loss"}), l2 = number(node, {"l2"}),
               steps = number(node, {"steps"});
    const auto stale = number(node, {"staleness", "mean"});
    sheet.row({std::to_string(i), percent(number(node, {"test", "accuracy"})),
               loss ? fmt::format("{:.4f}", *loss) : "", l2 ? fmt::format("{:.3g}", *l2) : "",
               steps ? fmt::format("{:.0f}", *steps) : "", fixed("compute_seconds"), fixed("waiting_seconds"),
               fixed("communication_seconds"), stale ? fmt::format("{:.3g}", *stale) : "",
               quantity(number(node, {"bytes_sent"}).value_or(0), "B")});
  }
  return sheet;
}

Sheet measurements(const RunRecord& run) {
  Sheet sheet({"step", "epoch", "seconds", "bytes_sent", "learning_rate", "images_per_second", "train_loss",
               "train_accuracy", "average_model_loss", "average_model_accuracy", "cv"});
  for (const Json& line : run.metrics)
    sheet.row({cell(number(line, {"step"})), cell(number(line, {"epoch"})), cell(number(line, {"seconds"})),
               cell(bytes_at(line)), cell(number(line, {"learning_rate"})),
               cell(number(line, {"images_per_second"})), cell(number(line, {"train", "loss"})),
               cell(number(line, {"train", "accuracy"})), cell(number(line, {"average_model", "loss"})),
               cell(number(line, {"average_model", "accuracy"})), cell(number(line, {"cv"}))});
  return sheet;
}

std::vector<NamedChart> charts(const std::vector<RunGroup>& groups) {
  std::vector<NamedChart> all{
      {"accuracy", {"Accuracy of the averaged model", "steps", "per cent of the test set", {}}},
      {"loss", {"Loss while training", "steps", "cross entropy", {}}},
      {"disagreement", {"How far the nodes differ", "steps", "per cent of the model's length", {}, true}},
      {"accuracy-seconds", {"Accuracy over time", "seconds of training", "per cent of the test set", {}}},
      {"accuracy-bytes",
       {"Accuracy over bytes", "gigabytes sent by all nodes", "per cent of the test set", {}}},
  };
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs) {
      const auto curve = [&](std::size_t chart, const auto& x, const auto& y) {
        Curve made{run.name, {}, {}};
        for (const Json& line : run.metrics)
          if (const std::optional<double> across = x(line), up = y(line); across && up) {
            made.x.push_back(*across);
            made.y.push_back(*up);
          }
        if (!made.x.empty()) all[chart].chart.curves.push_back(std::move(made));
      };
      const auto scaled = [](const std::optional<double>& value, double by) {
        return value ? std::optional(*value * by) : std::nullopt;
      };
      const auto step = [](const Json& line) { return number(line, {"step"}); };
      const auto accuracy = [&](const Json& line) {
        return scaled(number(line, {"average_model", "accuracy"}), 100);
      };
      curve(0, step, accuracy);
      curve(1, step, [](const Json& line) { return number(line, {"train", "loss"}); });
      curve(2, step, [&](const Json& line) { return scaled(number(line, {"cv"}), 100); });
      curve(
          3, [](const Json& line) { return number(line, {"seconds"}); }, accuracy);
      curve(
          4, [](const Json& line) { return std::optional(bytes_at(line) * 1e-9); }, accuracy);
    }
  return all;
}

}  // namespace veche::web
