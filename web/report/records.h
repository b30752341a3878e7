#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "veche/measures.h"
#include "veche/runtime/record/spread.h"

namespace veche::web {

using Json = nlohmann::ordered_json;

// The files of a run, read without its data, model or modules.
struct RunRecord {
  std::string name;
  std::filesystem::path folder;
  std::string config;  // the text of config.toml
  Json summary;        // from the last measurement if the run has not ended
  bool ended = false;
  std::vector<Json> metrics;       // one per measurement, in the order of their steps
  std::vector<double> sent;        // by measurement: bytes that all nodes have sent, lost ones included
  Json machine;                    // machine and version; null if not recorded
  std::vector<Json> samples = {};  // texts that a language model wrote, each with its step

  std::string text(const char* key) const;  // of the summary; empty if absent
  Task task() const;                        // of the summary
};

// Runs that differ only in their seeds.
struct RunGroup {
  std::string name;
  std::vector<RunRecord> runs;
};

// The keys of config.toml with their values, "section.key", in the order of the file.
std::vector<std::pair<std::string, std::string>> settings_of(const std::string& config);
// The value of a key in config.toml, without quotes; empty if absent.
std::string config_value(const std::string& config, const std::string& section, const std::string& key);

// A nested number; nullopt if absent or not a number.
std::optional<double> number(const Json& json, std::initializer_list<const char*> path);

// The throughput of a run, of any version; nullopt if unknown.
std::optional<double> throughput(const RunRecord& run);

// What all nodes have sent; nullopt if unknown.
std::optional<double> bytes_sent(const RunRecord& run);

// Mean and deviation over the runs of a group that have the value; nullopt if none has.
std::optional<Spread> over_runs(const RunGroup& group, std::initializer_list<const char*> path);
std::optional<Spread> over_runs(const RunGroup& group,
                                const std::function<std::optional<double>(const RunRecord&)>& value);

// Reads the runs in these folders: a run's own folder, or one of `veche train --compare`, which
// holds several. Throws RequestError for a folder that is neither, or whose files are damaged. A
// truncated last line is ignored.
std::vector<RunRecord> read_records(const std::vector<std::filesystem::path>& folders);
RunRecord read_record(const std::filesystem::path& folder);
// In the order of their first runs.
std::vector<RunGroup> by_seed(std::vector<RunRecord> runs);

}  // namespace veche::web
