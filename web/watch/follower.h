#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace veche::web {

// The complete lines appended to a file since the last call. A file that became shorter, or was
// replaced, is read from the start.
class LineReader {
 public:
  explicit LineReader(std::filesystem::path file) : file_(std::move(file)) {}
  // Returns true if it was read from the start, for the first time or again: discard earlier lines.
  bool read(std::vector<std::string>& lines);
  // More data are available: call again.
  bool behind() const { return behind_; }

 private:
  const std::filesystem::path file_;
  bool behind_ = false;
  std::uintmax_t at_ = 0;
  std::string rest_;         // an incomplete line
  std::uint64_t inode_ = 0;  // of the file being read; 0: none
};

// The state of a run, read from its folder, in compact columns whatever the run's length. One
// thread at a time. `poll` reads new data; the other methods answer from memory, as JSON for the
// page.
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
  // Columns over the whole run with at most `rows` rows: measurements, and progress in between.
  nlohmann::json series(std::size_t rows) const;
  // The columns of every node at up to `rows` measurements; the last measurements completely.
  nlohmann::json nodes(std::size_t rows) const;
  // The current state of every node: {"step", "nodes": [{"steps", "computing", .., "to": [[peer,
  // bytes], ..]}, ..]}; no nodes if nothing is known.
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

// The graph in the configuration: {"nodes": n, "edges": [[i, j, weight], ..], "about": text}.
nlohmann::json graph_of_config(const std::string& config);

}  // namespace veche::web
