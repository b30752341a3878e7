#pragma once

#include <chrono>
#include <filesystem>
#include <span>

#include "veche/runtime/record/node_member.h"
#include "veche/train/loop/progress_report.h"

namespace veche {

// nodes.json of a run's folder: the present state of every node, for processes that watch the run.
// Replaced about twice a second; a reader never finds half of it. Best effort, as progress.jsonl.
class NodesFile {
 public:
  explicit NodesFile(std::filesystem::path file);

  // `members`: of each node, on a grid.
  void write(std::uint64_t step, std::span<const ProgressReport> nodes, std::span<const NodeMember> members);

 private:
  static constexpr std::size_t kMostNodes = 500;  // as many as a page can draw; with more there is no file

  const std::filesystem::path file_, unfinished_;
  // In virtual time a run makes more reports per second than a reader could follow.
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace veche
