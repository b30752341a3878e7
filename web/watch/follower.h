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
  std::uint64_t graph_version() const { return graph_version_; }

  // The configuration and a description.
  nlohmann::json about() const;
  // Who may talk to whom: {"family", "weights", "names", "views": [{"step", "seats", "edges",
  // "edge_count"}, ..]}, a view for each time that other nodes took part. `seats` are the places
  // (places.h) of the nodes in their order, edges are [place, place, weight].
  nlohmann::json graph() const;
  // Columns over the whole run with at most `rows` rows: measurements, progress in between, and the
  // marks of the time line.
  nlohmann::json series(std::size_t rows) const;
  // When up to `rows` measurements were made, how many places there are, and their names on a grid.
  nlohmann::json nodes(std::size_t rows) const;
  // A measure of every node at these measurements: 32-bit floats, place by place, NaN where there is
  // none. Empty for a measure that has no name here (columns.cc).
  std::string column_of_nodes(std::string_view measure, std::size_t rows) const;
  // The current state of every node, by place: {"step", "nodes": [{"steps", "computing", .., "to":
  // [[place, bytes], ..]}, ..]}; no nodes if nothing is known.
  const nlohmann::json& now() const { return now_; }

 private:
  void take_measurement(const nlohmann::json& line);
  void take_progress(const nlohmann::json& line);
  void take_sample(const nlohmann::json& line);
  void take_nodes();
  void take_seats(double step, std::vector<std::size_t> seats);

  const std::filesystem::path folder_;
  std::string name_, config_;
  LineReader metrics_file_, progress_file_, samples_file_;
  nlohmann::json sample_;      // the last text that a language model wrote: {"step", "text"}; null: none
  nlohmann::json parameters_;  // of the model; null: not known yet
  std::vector<Measurement> measurements_;
  std::vector<std::vector<NodeAt>> nodes_;  // by measurement, then by place
  Places places_;
  // The nodes that took part from a step on.
  struct Seats {
    double step = 0;
    std::vector<std::size_t> places;
  };
  std::vector<Seats> views_;
  std::vector<Going> progress_;
  Marks marks_;
  Task task_ = Task::classification;
  std::string stopped_;
  bool ended_ = false;
  nlohmann::json now_{{"step", 0}, {"nodes", nlohmann::json::array()}};
  std::filesystem::file_time_type now_written_{};
  std::uint64_t progress_version_ = 0, nodes_version_ = 0, now_version_ = 0, graph_version_ = 0;
};

// The graph of a configuration.
struct ConfiguredGraph {
  int nodes = 0;       // in the configuration; on a grid those of one member
  std::string family;  // as configured, "torus:3x4"; empty: the strategy has no graph
  std::string weights;
  bool of_groups = false;  // its nodes are groups of the run's nodes
};
ConfiguredGraph graph_of_config(const std::string& config);
// Its edges among so many nodes, as run_plan.cc builds it. None if there are too few nodes for the
// family.
struct Edges {
  std::size_t count = 0;
  nlohmann::json drawn = nlohmann::json::array();  // [[i, j, weight], ..], in virtual time [i, j, weight,
                                                   // bytes/s, latency]; empty if a page draws tiles instead
};
Edges edges_of_config(const std::string& config, int nodes);

}  // namespace veche::web
