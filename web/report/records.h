#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace veche::web {

using Json = nlohmann::ordered_json;

// What a run has left, read without its data, its model or a module.
struct RunRecord {
  std::string name;
  std::filesystem::path folder;
  std::string config;  // the text of config.toml
  Json summary;        // of a run that has not ended, what its last measurement tells
  bool ended = false;
  std::vector<Json> metrics;  // one a measurement
  Json machine;               // where it ran, and with which version; null where it was not noted

  std::string text(const char* key) const;  // of the summary; empty: not there
};

// Runs that differ in their seeds alone.
struct RunGroup {
  std::string name;
  std::vector<RunRecord> runs;
};

// The value of a key of config.toml as it stands there, without quotes; empty: not there.
std::string config_value(const std::string& config, const std::string& section, const std::string& key);

// A number deep inside; none where it is not there, or is no number.
std::optional<double> number(const Json& json, std::initializer_list<const char*> path);

struct Spread {
  double mean = 0, std = 0;  // population
  std::size_t count = 0;
};
// Over the runs of a group that have it; none: no run has.
std::optional<Spread> over_runs(const RunGroup& group, std::initializer_list<const char*> path);

// The runs of these folders: a run's own, or one of `veche train --compare`, which holds several. Throws
// RequestError for a folder that is neither, or whose files are damaged; a last line that was cut short is
// left out.
std::vector<RunRecord> read_records(const std::vector<std::filesystem::path>& folders);
RunRecord read_record(const std::filesystem::path& folder);
// In the order of their first runs.
std::vector<RunGroup> by_seed(std::vector<RunRecord> runs);

}  // namespace veche::web
