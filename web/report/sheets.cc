// The tables and charts of a report; page.cc has the page around them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "veche/runtime/record/measures_json.h"
#include "web/report/report.h"

namespace veche::web {
namespace {

constexpr std::string_view kPlusMinus = " ± ";

std::string quantity(double value, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t step = 0;
  while (value >= 1000 && step + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++step;
  }
  return fmt::format("{:.4g} {}{}", value, kPrefixes[step], unit);
}

const Measure& measure_of(const RunRecord& run) { return main_measure(run.task()); }

// Over seeds if there are several, otherwise over the nodes of the single run.
std::string result_of_nodes(const RunGroup& group) {
  const Measure& measure = measure_of(group.runs.front());
  const std::string name(measure.name);
  const auto mean = over_runs(group, {name.c_str(), "mean"});
  if (!mean) return "";
  const auto of_nodes = over_runs(group, {name.c_str(), "std"});
  const double std = mean->count > 1 ? mean->std : of_nodes ? of_nodes->mean : 0;
  return shown(measure, mean->mean, std, kPlusMinus);
}

std::string result_of_average(const RunGroup& group) {
  const Measure& measure = measure_of(group.runs.front());
  const std::string name(measure.name);
  const auto found = over_runs(group, {name.c_str(), "average_model"});
  if (!found) return "";
  return found->count > 1 ? shown(measure, found->mean, found->std, kPlusMinus) : shown(measure, found->mean);
}

// The tasks of the runs, each once.
std::vector<Task> tasks_of(const std::vector<RunGroup>& groups) {
  std::vector<Task> tasks;
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs)
      if (std::ranges::find(tasks, run.task()) == tasks.end()) tasks.push_back(run.task());
  return tasks;
}

// "accuracy", or "accuracy or perplexity".
std::string joined(const std::vector<Task>& tasks, const std::function<std::string_view(Task)>& word) {
  std::vector<std::string_view> words;
  for (const Task task : tasks)
    if (std::ranges::find(words, word(task)) == words.end()) words.push_back(word(task));
  return fmt::format("{}", fmt::join(words, " or "));
}

std::string capitalised(std::string_view text) {
  std::string words(text);
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words;
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
  const std::vector<Task> tasks = tasks_of(groups);
  const auto title = [](Task task) { return main_measure(task).title; };
  Sheet sheet({"run", "strategy", "graph", "model", "nodes", "seeds", "steps",
               joined(tasks, title) + " of the nodes", "averaged model", "train loss", "disagreement",
               "seconds", joined(tasks, things_of) + "/s", "sent", "ended"},
              4);
  for (const RunGroup& group : groups) {
    const RunRecord& first = group.runs.front();
    const auto seconds = over_runs(group, {"seconds"});
    const auto bytes = over_runs(group, {"bytes_sent"});
    const auto cv = over_runs(group, {"disagreement", "cv"});
    const auto speed = over_runs(group, throughput);
    sheet.row({group.name, first.text("strategy"), first.text("topology"), first.text("model"),
               mean_of(group, {"nodes"}, "{:.0f}"), std::to_string(group.runs.size()),
               mean_of(group, {"steps"}, "{:.0f}"), result_of_nodes(group), result_of_average(group),
               mean_of(group, {"train_loss"}, "{:.4f}"), cv ? fmt::format("{:.3g} %", 100 * cv->mean) : "",
               !seconds ? ""
                        : (seconds->count > 1 ? fmt::format("{:.4g} ± {:.2g}", seconds->mean, seconds->std)
                                              : fmt::format("{:.4g}", seconds->mean)) +
                              (first.summary.contains("wall_seconds") ? " virtual" : ""),
               speed ? fmt::format("{:.0f}", speed->mean) : "", bytes ? quantity(bytes->mean, "B") : "",
               endings(group)});
  }
  return sheet;
}

Sheet nodes_of(const RunRecord& run, std::size_t most_rows) {
  const Measure& measure = measure_of(run);
  Sheet sheet({"node", fmt::format("test {}", measure.title), "train loss", "from the mean", "steps",
               "computing s", "waiting s", "communicating s", "staleness", "sent"});
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
    const auto tested = number(node, {"test", std::string(measure.name).c_str()});
    sheet.row({std::to_string(i), tested ? shown(measure, *tested) : "",
               loss ? fmt::format("{:.4f}", *loss) : "", l2 ? fmt::format("{:.3g}", *l2) : "",
               steps ? fmt::format("{:.0f}", *steps) : "", fixed("compute_seconds"), fixed("waiting_seconds"),
               fixed("communication_seconds"), stale ? fmt::format("{:.3g}", *stale) : "",
               quantity(number(node, {"bytes_sent"}).value_or(0), "B")});
  }
  return sheet;
}

Sheet measurements(const RunRecord& run) {
  const std::string per_second = throughput_key(run.task());
  std::vector<std::string> head{"step", "epoch", "seconds", "bytes_sent", "learning_rate", per_second};
  std::vector<std::pair<const char*, std::string>> values;  // the part of a line, and the measure
  std::vector<std::string> names{"loss"};
  for (const Measure& measure : measures_of(run.task()))
    if (measure.name != "loss") names.emplace_back(measure.name);
  for (const char* part : {"train", "average_model"})
    for (const std::string& name : names) {
      const auto has = [&](const Json& line) { return number(line, {part, name.c_str()}).has_value(); };
      if (name == "auc" && std::ranges::none_of(run.metrics, has)) continue;
      head.push_back(fmt::format("{}_{}", part, name));
      values.emplace_back(part, name);
    }
  head.emplace_back("cv");
  Sheet sheet(std::move(head));
  for (const Json& line : run.metrics) {
    std::vector<std::string> row{cell(number(line, {"step"})),          cell(number(line, {"epoch"})),
                                 cell(number(line, {"seconds"})),       cell(bytes_at(line)),
                                 cell(number(line, {"learning_rate"})), cell(throughput_in(line))};
    for (const auto& [part, name] : values) row.push_back(cell(number(line, {part, name.c_str()})));
    row.push_back(cell(number(line, {"cv"})));
    sheet.row(std::move(row));
  }
  return sheet;
}

std::vector<NamedChart> charts(const std::vector<RunGroup>& groups) {
  const auto step = [](const Json& line) { return number(line, {"step"}); };
  const auto per_cent = [](const std::optional<double>& part) {
    return part ? std::optional(100 * *part) : std::nullopt;
  };
  std::vector<NamedChart> all;
  const auto add = [&](const std::string& file, Chart chart, const std::optional<Task>& task, const auto& x,
                       const auto& y) {
    for (const RunGroup& group : groups)
      for (const RunRecord& run : group.runs) {
        if (task && run.task() != *task) continue;
        Curve made{run.name, {}, {}};
        for (const Json& line : run.metrics)
          if (const std::optional<double> across = x(line), up = y(line); across && up) {
            made.x.push_back(*across);
            made.y.push_back(*up);
          }
        if (!made.x.empty()) chart.curves.push_back(std::move(made));
      }
    all.push_back({file, std::move(chart)});
  };
  const std::vector<Task> tasks = tasks_of(groups);
  const auto add_result = [&](Task task, const std::string& ending, const std::string& over,
                              const std::string& axis, const auto& x) {
    const Measure& measure = main_measure(task);
    const std::string name(measure.name), unit = measure.unit == "%" ? "per cent of the test set" : name;
    add(name + ending, {capitalised(measure.title) + over, axis, unit, {}}, task, x,
        [&, scale = measure.scale()](const Json& line) {
          const auto value = number(line, {"average_model", name.c_str()});
          return value ? std::optional(scale * *value) : std::nullopt;
        });
  };
  for (const Task task : tasks) add_result(task, "", " of the averaged model", "steps", step);
  const bool entropy = std::ranges::find(tasks, Task::regression) == tasks.end();
  add("loss", {"Loss while training", "steps", entropy ? "cross entropy" : "mean loss", {}}, {}, step,
      [](const Json& line) {
        return number(line, {"train", "loss"});
      });
  add("disagreement", {"How far the nodes differ", "steps", "per cent of the model's length", {}, true}, {},
      step, [&](const Json& line) { return per_cent(number(line, {"cv"})); });
  for (const Task task : tasks) {
    add_result(task, "-seconds", " over time", "seconds of training",
               [](const Json& line) { return number(line, {"seconds"}); });
    add_result(task, "-bytes", " over bytes", "gigabytes sent by all nodes",
               [](const Json& line) { return std::optional(bytes_at(line) * 1e-9); });
  }
  return all;
}

}  // namespace veche::web
