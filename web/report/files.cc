// The files of a report for other programs and papers. Tables have every digit there, and no cell that
// means two things.
#include "veche/base/files/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "veche/errors.h"
#include "veche/runtime/record/measures_json.h"
#include "web/report/report.h"

namespace veche::web {
namespace {

namespace fs = std::filesystem;

// The shortest text that reads back as the same number; empty if there is none.
std::string full(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }
std::string full(const std::optional<Spread>& value) { return value ? fmt::format("{}", value->mean) : ""; }

// A run's name as part of a file name.
std::string file_name(const std::string& name, std::set<std::string>& taken) {
  std::string made;
  for (const char c : name)
    made += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ? c : '-';
  if (made.empty() || made.front() == '.') made = "run" + made;
  std::string tried = made;
  for (int i = 2; !taken.insert(tried).second; ++i) tried = fmt::format("{}-{}", made, i);
  return tried;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder))
    throw RequestError(fmt::format("the folder '{}' cannot be made: {}", folder.string(), error.message()));
}

}  // namespace

Sheet full_runs(const std::vector<RunGroup>& groups, const Findings& findings) {
  Sheet sheet(
      {"run",        "configuration", "seed",       "strategy",      "graph",           "codec",
       "model",      "data",          "nodes",      "steps",         "measure",         "averaged_model",
       "nodes_mean", "nodes_std",     "train_loss", "disagreement",  "seconds",         "virtual_time",
       "per_second", "bytes_sent",    "goal",       "bytes_to_goal", "seconds_to_goal", "stopped"});
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs) {
      const RunGroup alone{run.name, {run}};
      const Finding finding = finding_of(alone, findings.goal);
      const std::string measure(main_measure(run.task()).name);
      const auto nodes = [&](const char* key) { return full(number(run.summary, {measure.c_str(), key})); };
      sheet.row({run.name,
                 group.name,
                 config_value(run.config, "run", "seed"),
                 finding.strategy,
                 finding.graph,
                 finding.codec,
                 run.text("model"),
                 run.text("data"),
                 full(number(run.summary, {"nodes"})),
                 full(number(run.summary, {"steps"})),
                 measure,
                 nodes("average_model"),
                 nodes("mean"),
                 nodes("std"),
                 full(finding.loss),
                 full(finding.disagreement),
                 full(finding.seconds),
                 finding.virtual_time ? "true" : "false",
                 full(finding.speed),
                 full(finding.bytes),
                 full(findings.goal),
                 full(finding.bytes_to_goal),
                 full(finding.seconds_to_goal),
                 run.ended ? run.text("stopped") : "not ended"});
    }
  return sheet;
}

Sheet full_nodes(const RunRecord& run) {
  const std::string measure(main_measure(run.task()).name);
  Sheet sheet({"node", "test_" + measure, "train_loss", "from_the_mean", "steps", "compute_seconds",
               "waiting_seconds", "communication_seconds", "staleness", "bytes_sent"});
  const auto nodes = run.summary.find("per_node");
  if (nodes == run.summary.end() || !nodes->is_array()) return sheet;
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    const Json& node = (*nodes)[i];
    const auto value = [&](const char* key) { return full(number(node, {key})); };
    sheet.row({std::to_string(i), full(number(node, {"test", measure.c_str()})),
               full(number(node, {"train", "loss"})), value("l2"), value("steps"), value("compute_seconds"),
               value("waiting_seconds"), value("communication_seconds"),
               full(number(node, {"staleness", "mean"})), value("bytes_sent")});
  }
  return sheet;
}

Sheet full_measurements(const RunRecord& run) {
  std::vector<Words> head{"step",       "epoch",         "seconds",
                          "bytes_sent", "learning_rate", throughput_key(run.task())};
  std::vector<std::pair<const char*, std::string>> values;  // the part of a line, and the measure
  std::vector<std::string> names{"loss"};
  for (const Measure& measure : measures_of(run.task()))
    if (measure.name != "loss") names.emplace_back(measure.name);
  for (const char* part : {"train", "average_model"})
    for (const std::string& name : names) {
      const auto has = [&](const Json& line) { return number(line, {part, name.c_str()}).has_value(); };
      if (name == "auc" && std::ranges::none_of(run.metrics, has)) continue;
      head.emplace_back(fmt::format("{}_{}", part, name));
      values.emplace_back(part, name);
    }
  head.emplace_back("cv");
  Sheet sheet(std::move(head));
  for (std::size_t i = 0; i < run.metrics.size(); ++i) {
    const Json& line = run.metrics[i];
    std::vector<std::string> row{full(number(line, {"step"})),          full(number(line, {"epoch"})),
                                 full(number(line, {"seconds"})),       full(std::optional(run.sent[i])),
                                 full(number(line, {"learning_rate"})), full(throughput_in(line))};
    for (const auto& [part, name] : values) row.push_back(full(number(line, {part, name.c_str()})));
    row.push_back(full(number(line, {"cv"})));
    sheet.row(std::move(row));
  }
  return sheet;
}

std::vector<fs::path> write_figures(const std::vector<RunGroup>& groups, const fs::path& folder) {
  make_folder(folder);
  std::vector<fs::path> written;
  const auto write = [&](const std::string& name, const std::string& text) {
    if (text.empty()) return;
    write_file(folder / name, text);
    written.push_back(folder / name);
  };
  const Findings findings = findings_of(groups);
  for (const NamedChart& named : charts(findings)) write(named.file + ".svg", to_svg(named.chart));
  const Sheet table = overview(findings);
  write("table.tex", table.to_latex("Results of Veche"));
  write("table.md", table.to_markdown());
  return written;
}

std::vector<fs::path> write_csv(const std::vector<RunGroup>& groups, const fs::path& folder) {
  make_folder(folder);
  std::vector<fs::path> written;
  std::set<std::string> taken;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file(folder / name, text);
    written.push_back(folder / name);
  };
  write("runs.csv", full_runs(groups, findings_of(groups)).to_csv());
  for (const RunGroup& group : groups)
    for (const RunRecord& run : group.runs) {
      const std::string name = file_name(run.name, taken);
      write(name + "-nodes.csv", full_nodes(run).to_csv());
      write(name + "-measurements.csv", full_measurements(run).to_csv());
    }
  return written;
}

}  // namespace veche::web
