#include "web/report/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "veche/base/files/read_text.h"
#include "veche/base/text/nesting.h"
#include "veche/errors.h"
#include "veche/runtime/record/measures_json.h"

namespace veche::web {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostText = 1U << 30U;

Json parsed(const fs::path& file) {
  const std::string text = read_text(file, file.string(), kMostText);
  try {
    check_json_nesting(text);
    Json json = Json::parse(text);
    if (json.is_object()) return json;
  } catch (const Json::exception&) {
  } catch (const RequestError&) {
  }
  throw RequestError(fmt::format("{} is damaged: it is not a JSON object", file.string()));
}

std::vector<Json> lines_of(const fs::path& file) {
  std::vector<Json> lines;
  std::istringstream text(read_text(file, file.string(), kMostText));
  for (std::string line; std::getline(text, line);) {
    Json json = Json::parse(line, nullptr, false);  // the last line may be truncated by a kill
    const auto step = json.is_object() ? number(json, {"step"}) : std::nullopt;
    if (!step) continue;
    while (!lines.empty() && *number(lines.back(), {"step"}) >= *step) lines.pop_back();  // a resumed run
    lines.push_back(std::move(json));
  }
  return lines;
}

// By measurement. The sum over the nodes that are present would fall when a member is lost: instead
// every node adds what it has sent since the measurement before.
std::vector<double> sent_by(const std::vector<Json>& metrics) {
  std::vector<double> sums, before;
  double sum = 0;
  for (const Json& line : metrics) {
    const auto nodes = line.find("nodes");
    for (std::size_t i = 0; nodes != line.end() && nodes->is_array() && i < nodes->size(); ++i) {
      if (i == before.size()) before.push_back(0);
      const double now = number((*nodes)[i], {"bytes_sent"}).value_or(before[i]);
      sum += std::max(0.0, now - before[i]);
      before[i] = now;
    }
    sums.push_back(sum);
  }
  return sums;
}

// The summary at the current point of the run.
Json summary_so_far(const RunRecord& run) {
  const std::vector<Json>& metrics = run.metrics;
  Json json = Json::object();
  if (metrics.empty()) return json;
  const Json& last = metrics.back();
  json["steps"] = last["step"];
  const Task task = task_in(last);
  json["task"] = to_string(task);
  for (const auto& [key, as] : {std::pair("epoch", "epochs"), std::pair("seconds", "seconds")})
    if (last.contains(key)) json[as] = last[key];
  if (const auto found = throughput_in(last)) json[throughput_key(task)] = *found;
  if (const auto loss = number(last, {"train", "loss"})) json["train_loss"] = *loss;
  if (const auto cv = number(last, {"cv"})) json["disagreement"]["cv"] = *cv;
  const std::string measure(main_measure(task).name);
  if (const auto value = number(last, {"average_model", measure.c_str()}))
    json[measure]["average_model"] = *value;
  const Json nodes = last.contains("nodes") ? last["nodes"] : Json::array();
  json["bytes_sent"] = run.sent.back();
  json["nodes"] = nodes.size();
  json["per_node"] = nodes;
  return json;
}

// The configuration without the keys in which runs of one kind differ.
std::string kind_of(const RunRecord& run) {
  std::istringstream text(run.config);
  std::string kind, section;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("[")) section = line;
    const std::string key = line.substr(0, line.find(' '));
    if (section == "[run]" && (key == "seed" || key == "name" || key == "out")) continue;
    kind += line + "\n";
  }
  return kind;
}

// "allreduce-seed2" of a comparison belongs to the runs of "allreduce".
std::string without_seed(const std::string& name) {
  const std::size_t at = name.rfind("-seed");
  if (at == std::string::npos || at == 0 || at + 5 == name.size()) return name;
  return name.find_first_not_of("0123456789", at + 5) == std::string::npos ? name.substr(0, at) : name;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> settings_of(const std::string& config) {
  std::vector<std::pair<std::string, std::string>> settings;
  std::istringstream text(config);
  std::string section;
  for (std::string line; std::getline(text, line);) {
    const std::size_t equals = line.find(" = ");
    if (line.starts_with("[") && line.ends_with("]") && equals == std::string::npos) {
      section = line.substr(1, line.size() - 2);
    } else if (line.starts_with("#")) {
    } else if (equals != std::string::npos && line.front() != ' ') {
      settings.emplace_back(fmt::format("{}.{}", section, line.substr(0, equals)), line.substr(equals + 3));
    } else if (!settings.empty()) {
      settings.back().second += line;  // a list of several lines
    }
  }
  for (auto& [key, value] : settings)
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
  return settings;
}

std::string config_value(const std::string& config, const std::string& section, const std::string& key) {
  for (const auto& [name, value] : settings_of(config))
    if (name == section + "." + key) return value;
  return "";
}

std::string RunRecord::text(const char* key) const {
  const auto found = summary.find(key);
  return found != summary.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> number(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* key : path) {
    if (!at->is_object()) return std::nullopt;
    const auto found = at->find(key);
    if (found == at->end()) return std::nullopt;
    at = &*found;
  }
  if (!at->is_number()) return std::nullopt;
  const double value = at->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Task RunRecord::task() const { return task_in(summary); }

std::optional<double> throughput(const RunRecord& run) { return throughput_in(run.summary); }

std::optional<double> bytes_sent(const RunRecord& run) {
  const auto of_present = number(run.summary, {"bytes_sent"});
  if (!of_present || run.sent.empty()) return of_present;
  return std::max(*of_present, run.sent.back());
}

std::optional<Spread> over_runs(const RunGroup& group,
                                const std::function<std::optional<double>(const RunRecord&)>& value) {
  std::vector<double> values;
  for (const RunRecord& run : group.runs)
    if (const auto found = value(run)) values.push_back(*found);
  if (values.empty()) return std::nullopt;
  return spread_of(values);
}

std::optional<Spread> over_runs(const RunGroup& group, std::initializer_list<const char*> path) {
  return over_runs(group, [&](const RunRecord& run) { return number(run.summary, path); });
}

RunRecord read_record(const fs::path& folder) {
  RunRecord run;
  run.folder = fs::path(folder / "").parent_path();
  run.name = run.folder.filename().string();
  if (run.name.empty() || run.name == "." || run.name == "..")
    run.name = fs::weakly_canonical(run.folder).filename().string();
  run.config = read_text(run.folder / "config.toml", (run.folder / "config.toml").string(), kMostText);
  std::error_code unknown;
  if (fs::exists(run.folder / "metrics.jsonl", unknown)) run.metrics = lines_of(run.folder / "metrics.jsonl");
  run.sent = sent_by(run.metrics);
  if (fs::exists(run.folder / "samples.jsonl", unknown)) run.samples = lines_of(run.folder / "samples.jsonl");
  run.ended = fs::exists(run.folder / "summary.json", unknown);
  run.summary = run.ended ? parsed(run.folder / "summary.json") : summary_so_far(run);
  if (!run.ended) {
    run.summary["strategy"] = config_value(run.config, "strategy", "name");
    run.summary["model"] = config_value(run.config, "model", "name");
    run.summary["data"] = config_value(run.config, "data", "name");
  }
  if (fs::exists(run.folder / "layout.json", unknown)) {
    const Json layout = parsed(run.folder / "layout.json");
    if (layout.contains("machine") && layout["machine"].is_object()) run.machine = layout["machine"];
  }
  return run;
}

std::vector<RunRecord> read_records(const std::vector<fs::path>& folders) {
  std::vector<RunRecord> runs;
  for (const fs::path& folder : folders) {
    std::error_code unknown;
    if (!fs::is_directory(folder, unknown))
      throw RequestError(
          fmt::format("there is no folder '{}': name folders of runs, such as runs/NAME", folder.string()));
    if (fs::exists(folder / "config.toml", unknown)) {
      runs.push_back(read_record(folder));
      continue;
    }
    std::vector<fs::path> inside;
    for (const auto& entry : fs::directory_iterator(folder))
      if (fs::exists(entry.path() / "config.toml", unknown)) inside.push_back(entry.path());
    if (inside.empty())
      throw RequestError(
          fmt::format("'{}' is neither a run's folder nor one of a comparison: it has no "
                      "config.toml, and no folder in it has one",
                      folder.string()));
    std::ranges::sort(inside);
    for (const fs::path& run : inside) runs.push_back(read_record(run));
  }
  return runs;
}

std::vector<RunGroup> by_seed(std::vector<RunRecord> runs) {
  std::vector<RunGroup> groups;
  std::vector<std::string> kinds;
  for (RunRecord& run : runs) {
    const std::string kind = kind_of(run);
    const auto found = std::ranges::find(kinds, kind);
    if (found == kinds.end()) {
      kinds.push_back(kind);
      groups.push_back({run.name, {}});
      groups.back().runs.push_back(std::move(run));
    } else {
      RunGroup& group = groups[static_cast<std::size_t>(found - kinds.begin())];
      group.name = without_seed(group.name);
      group.runs.push_back(std::move(run));
    }
  }
  return groups;
}

}  // namespace veche::web
