// The tables of a report as people read them; files.cc has those for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veche/base/text/figures.h"
#include "veche/runtime/record/measures_json.h"
#include "web/report/report.h"

namespace veche::web {
namespace {

const Measure& measure_of(const RunRecord& run) { return main_measure(run.task()); }

double or_missing(const std::optional<double>& value) { return value.value_or(std::nan("")); }
double mean_or_missing(const std::optional<Spread>& value) { return value ? value->mean : std::nan(""); }

std::string seconds_text(const std::optional<Spread>& seconds) {
  return figures::seconds(mean_or_missing(seconds));
}

// "accuracy", or "accuracy or perplexity".
Words titles_of(const std::vector<Task>& tasks) {
  Words all = "";
  for (const Task task : tasks) {
    const Words title = title_of(main_measure(task));
    const bool more = !all.english.empty();
    all.english += (more ? " or " : "") + title.english;
    all.russian += (more ? " или " : "") + (title.russian.empty() ? title.english : title.russian);
  }
  return all;
}

std::string ending(const RunRecord& run) { return run.ended ? run.text("stopped") : "not ended"; }

}  // namespace

std::string goal_text(const Measure& measure, double goal) {
  if (measure.unit != "%") return fmt::format("{} {}", measure.title, figures::three(goal));
  const double shown = 100 * goal;
  return figures::fixed(shown, std::abs(shown - std::round(shown)) < 1e-9 ? 0 : 1) + "\u00a0%";
}

std::string result_text(const Measure& measure, const std::optional<Spread>& result) {
  if (!result) return std::string(figures::kMissing);
  const bool several = result->count > 1;
  if (measure.unit == "%")
    return several ? figures::percent(result->mean, result->std) : figures::percent(result->mean);
  return several ? figures::three(result->mean, result->std) : figures::three(result->mean);
}

Sheet overview(const Findings& findings) {
  const bool settings =
      std::ranges::any_of(findings.all, [](const Finding& one) { return !one.others.empty(); });
  const std::string to = findings.goal ? " to " + goal_text(findings.measure(), *findings.goal) : "";
  std::vector<Words> head{"run", "strategy", "graph", "codec"};
  if (settings) head.emplace_back("settings");
  head.insert(head.end(), {findings.goal ? "bytes" + to : "sent",
                           (findings.virtual_time() ? "virtual seconds" : "seconds") + to,
                           titles_of(findings.tasks).english + " at the end", "disagreement",
                           things_per_second(findings.tasks.front())});
  Sheet sheet(std::move(head), settings ? 5 : 4);
  const auto or_dash = [](const std::string& text) {
    return text.empty() ? std::string(figures::kMissing) : text;
  };
  for (const Finding& one : findings.all) {
    std::vector<std::string> row{one.name(), one.strategy, or_dash(one.graph), one.codec};
    if (settings) {
      std::string text;
      for (const auto& [key, value] : one.others)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, value);
      row.push_back(or_dash(text));
    }
    const bool reached = !findings.goal || one.bytes_to_goal;
    const std::string seconds = seconds_text(findings.goal ? one.seconds_to_goal : one.seconds);
    row.push_back(reached ? figures::bytes(mean_or_missing(findings.goal ? one.bytes_to_goal : one.bytes))
                          : "not reached");
    row.push_back(!reached ? "not reached"
                           : seconds + (one.virtual_time && !findings.virtual_time() ? " virtual" : ""));
    row.push_back(result_text(measure_of(one.first()), one.result));
    row.push_back(figures::fine_percent(mean_or_missing(one.disagreement)));
    row.push_back(figures::three(mean_or_missing(one.speed)));
    sheet.row(std::move(row));
  }
  return sheet;
}

Sheet every_run(const std::vector<RunGroup>& groups) {
  std::vector<Task> tasks;
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs)
      if (std::ranges::find(tasks, run.task()) == tasks.end()) tasks.push_back(run.task());
  const Words title = titles_of(tasks);
  Sheet sheet({{"run", "запуск"},
               {"nodes", "узлы"},
               {"steps", "шаги"},
               {title.english + " of the nodes", title.russian + " узлов"},
               {"averaged model", "усреднённая модель"},
               {"train loss", "потери при обучении"},
               {"time", "время"},
               {"sent", "отправлено"},
               {"ended by", "завершён"}});
  for (const std::size_t column : {1U, 2U, 5U, 7U, 8U}) sheet.set_aside(column);
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs) {
      const Measure& measure = measure_of(run);
      const std::string name(measure.name);
      const auto mean = number(run.summary, {name.c_str(), "mean"}),
                 std = number(run.summary, {name.c_str(), "std"});
      const auto average = number(run.summary, {name.c_str(), "average_model"});
      const auto nodes =
          mean ? std::optional(Spread{.mean = *mean, .std = std.value_or(0), .count = 2}) : std::nullopt;
      const auto alone = average ? std::optional(Spread{.mean = *average, .count = 1}) : std::nullopt;
      sheet.row({run.name, figures::count(or_missing(number(run.summary, {"nodes"}))),
                 figures::count(or_missing(number(run.summary, {"steps"}))), result_text(measure, nodes),
                 result_text(measure, alone), figures::three(or_missing(number(run.summary, {"train_loss"}))),
                 figures::seconds(or_missing(number(run.summary, {"seconds"}))) +
                     (run.summary.contains("wall_seconds") ? " virtual" : ""),
                 figures::bytes(or_missing(bytes_sent(run))), ending(run)});
    }
  return sheet;
}

Sheet nodes_of(const RunRecord& run, std::size_t most_rows) {
  const Measure& measure = measure_of(run);
  Sheet sheet({{"node", "узел"},
               title_of(measure),
               {"train loss", "потери"},
               {"from the mean", "от среднего"},
               {"steps", "шаги"},
               {"computing", "вычисления"},
               {"waiting", "ожидание"},
               {"communicating", "обмен"},
               {"staleness", "устаревание"},
               {"sent", "отправлено"}});
  for (const std::size_t column : {2U, 4U, 5U, 7U, 8U}) sheet.set_aside(column);
  const auto nodes = run.summary.find("per_node");
  if (nodes == run.summary.end() || !nodes->is_array()) return sheet;
  for (std::size_t i = 0; i < std::min(nodes->size(), most_rows); ++i) {
    const Json& node = (*nodes)[i];
    const auto value = [&](const char* key) { return or_missing(number(node, {key})); };
    const auto tested = number(node, {"test", std::string(measure.name).c_str()});
    sheet.row(
        {std::to_string(i),
         result_text(measure, tested ? std::optional(Spread{.mean = *tested, .count = 1}) : std::nullopt),
         figures::three(or_missing(number(node, {"train", "loss"}))), figures::three(value("l2")),
         figures::count(value("steps")), figures::seconds(value("compute_seconds")),
         figures::seconds(value("waiting_seconds")), figures::seconds(value("communication_seconds")),
         figures::three(or_missing(number(node, {"staleness", "mean"}))),
         figures::bytes(value("bytes_sent"))});
  }
  return sheet;
}

Sheet some_measurements(const RunRecord& run, std::size_t most_rows) {
  const Measure& measure = measure_of(run);
  const Words title = title_of(measure);
  Sheet sheet({{"step", "шаг"},
               {"time", "время"},
               {"sent", "отправлено"},
               {"train loss", "потери при обучении"},
               {title.english + " of the averaged model", title.russian + " усреднённой модели"},
               {"disagreement", "расхождение"}},
              0);
  sheet.set_aside(3);
  const std::size_t count = run.metrics.size(), shown = std::min(count, most_rows);
  for (std::size_t i = 1; i <= shown; ++i) {
    const std::size_t at = i * count / shown - 1;
    const Json& line = run.metrics[at];
    const auto result = number(line, {"average_model", std::string(measure.name).c_str()});
    sheet.row(
        {figures::count(or_missing(number(line, {"step"}))),
         figures::seconds(or_missing(number(line, {"seconds"}))), figures::bytes(run.sent[at]),
         figures::three(or_missing(number(line, {"train", "loss"}))),
         result_text(measure, result ? std::optional(Spread{.mean = *result, .count = 1}) : std::nullopt),
         figures::fine_percent(or_missing(number(line, {"cv"})))});
  }
  return sheet;
}

}  // namespace veche::web
