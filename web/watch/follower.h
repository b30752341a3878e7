#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "veche/task.h"
#include "web/watch/line_reader.h"
#include "web/watch/marks.h"
#include "web/watch/measured.h"

namespace veche::web {

// The state of a run, read from its folder, in compact columns whatever the run's length. One
// thread at a time. `poll` reads new data; the other methods answer from memory, for the page.
class RunFollower {
 public:
  explicit RunFollower(const std::filesystem::path& folder);

  const std::string& name() const { return name_; }
  bool poll();  // returns whether something is new
  bool behind() const { return metrics_file_.behind() || progress_file_.behind(); }  // poll again soon
  bool ended() const { return ended_; }
  std::uint64_t progress_version() const { return progress_version_; }
  std::uint64_t nodes_version() const { return nodes_version_; }
  std::uint64_t now_version() const { return now_version_; }

  // The configuration, the graph and a description.
  nlohmann::json about() const;
  // Columns over the whole run with at most `rows` rows: measurements, progress in between, and the
  // marks of the time line.
  nlohmann::json series(std::size_t rows) const;
  // When up to `rows` measurements were made, how many nodes each had; the last one completely.
  nlohmann::json nodes(std::size_t rows) const;
  // A measure of every node at these measurements: 32-bit floats, node by node, NaN where there is
  // none. Empty for a measure that has no name here (columns.cc).
  std::string column_of_nodes(std::string_view measure, std::size_t rows) const;
  // The current state of every node: {"step", "nodes": [{"steps", "computing", .., "to": [[peer,
  // bytes], ..]}, ..]}; no nodes if nothing is known.
  const nlohmann::json& now() const { return now_; }

 private:
  void take_measurement(const nlohmann::json& line);
  void take_progress(const nlohmann::json& line);
  void take_sample(const nlohmann::json& line);
  void take_nodes();

  const std::filesystem::path folder_;
  std::string name_, config_;
  LineReader metrics_file_, progress_file_, samples_file_;
  nlohmann::json sample_;  // the last text that a language model wrote: {"step", "text"}; null: none
  std::vector<Measurement> measurements_;
  std::vector<std::vector<NodeAt>> nodes_;  // by measurement
  std::vector<Going> progress_;
  Marks marks_;
  Task task_ = Task::classification;
  std::string stopped_;
  bool ended_ = false;
  nlohmann::json now_{{"step", 0}, {"nodes", nlohmann::json::array()}};
  std::filesystem::file_time_type now_written_{};
  std::uint64_t progress_version_ = 0, nodes_version_ = 0, now_version_ = 0;
};

// The graph in the configuration: {"nodes": n, "edges": [[i, j, weight], ..], "about": text}.
nlohmann::json graph_of_config(const std::string& config);

}  // namespace veche::web
