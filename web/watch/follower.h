#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace veche::web {

// Complete lines that a growing file has got since the last call. A file that became shorter, or was replaced
// by another of its name, is read anew.
class LineReader {
 public:
  explicit LineReader(std::filesystem::path file) : file_(std::move(file)) {}
  // True when it was read from its beginning, for the first time or again: forget what was before.
  bool read(std::vector<std::string>& lines);
  // There was more than is read at a time: call again.
  bool behind() const { return behind_; }

 private:
  const std::filesystem::path file_;
  bool behind_ = false;
  std::uintmax_t at_ = 0;
  std::string rest_;         // of a line that is not complete yet
  std::uint64_t inode_ = 0;  // of the file that was read; 0: none
};

// What is known of a run from its folder, kept small however long it is: numbers in columns. One thread at a
// time. `poll` reads what is new; the rest answers from memory, as JSON for the page.
class RunFollower {
 public:
  explicit RunFollower(const std::filesystem::path& folder);

  const std::string& name() const { return name_; }
  bool poll();  // whether something is new
  bool behind() const { return metrics_file_.behind() || progress_file_.behind(); }  // poll again soon
  bool ended() const { return ended_; }
  std::uint64_t progress_version() const { return progress_version_; }
  std::uint64_t nodes_version() const { return nodes_version_; }
  std::uint64_t now_version() const { return now_version_; }

  // The configuration, the graph, what it is.
  nlohmann::json about() const;
  // Columns over the whole run, of at most so many rows: measurements, and progress in between.
  nlohmann::json series(std::size_t rows) const;
  // Every node's columns at so many measurements, and the last ones whole.
  nlohmann::json nodes(std::size_t rows) const;
  // Where every node is since then: {"step", "nodes": [{"steps", "computing", .., "to": [[peer, bytes], ..]},
  // ..]}; no nodes where nothing is known.
  const nlohmann::json& now() const { return now_; }

 private:
  struct Measurement {
    double step, seconds, bytes, epoch, rate, speed, loss, accuracy, cv, mean, std;
  };
  struct Going {
    double step, loss, cv, speed;
  };
  struct NodeAt {
    float accuracy, distance, steps, computing, waiting, communicating, bytes, staleness;
  };
  void take_measurement(const nlohmann::json& line);
  void take_progress(const nlohmann::json& line);
  void take_nodes();

  const std::filesystem::path folder_;
  std::string name_, config_;
  LineReader metrics_file_, progress_file_;
  std::vector<Measurement> measurements_;
  std::vector<std::vector<NodeAt>> nodes_;  // by measurement
  std::vector<Going> progress_;
  std::string stopped_;
  bool ended_ = false;
  nlohmann::json now_{{"step", 0}, {"nodes", nlohmann::json::array()}};
  std::filesystem::file_time_type now_written_{};
  std::uint64_t progress_version_ = 0, nodes_version_ = 0, now_version_ = 0;
};

// Nodes and edges that the configuration names: {"nodes": n, "edges": [[i, j, weight], ..], "about": words}.
nlohmann::json graph_of_config(const std::string& config);

}  // namespace veche::web
