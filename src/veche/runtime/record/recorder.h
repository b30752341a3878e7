#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veche/base/files/append_file.h"
#include "veche/runtime/record/event_file.h"
#include "veche/runtime/record/nodes_file.h"
#include "veche/runtime/record/progress_file.h"
#include "veche/runtime/record/run_folder.h"
#include "veche/runtime/record/run_observer.h"

namespace veche {

// Writes every evaluation to metrics.jsonl and to TensorBoard's events, and progress to
// progress.jsonl and nodes.json. Passes everything on to the next observer. While the disk is full
// the run continues: the recorder keeps unwritten lines in memory and tells the observer; at
// the end it tells how many were lost.
class Recorder : public Observer {
 public:
  // When a run is resumed, measurements after its checkpoint are removed, since they will be made
  // again. Throws RunError where the files cannot be written. `next` may be null.
  Recorder(const RunFolder& folder, const RunInfo& info, RunObserver* next);
  ~Recorder() override;

  // Members have joined or left: the number of nodes and the steps per epoch change. `members`: of each
  // node; empty where it is not known.
  void on_view(const RunInfo& info, std::vector<NodeMember> members) {
    info_ = info;
    members_ = std::move(members);
  }

  void on_progress(const Progress& progress) override;
  void on_nodes(std::uint64_t step, std::span<const ProgressReport> nodes) override;
  void on_measuring() override;
  void on_testing(double part) override;
  void on_evaluation(const Evaluation& evaluation) override;

  // At the end of the run. Throws RunError where something could not be written.
  void finish();

 private:
  void write_kept();
  std::string loss();  // a sentence; empty: nothing is lost

  RunInfo info_;
  std::vector<NodeMember> members_;
  RunObserver* const next_;
  AppendFile lines_;
  const std::filesystem::path samples_file_;
  std::optional<AppendFile> samples_;  // texts that a language model wrote; none yet
  EventFile events_;
  ProgressFile progress_;
  NodesFile nodes_;
  bool behind_ = false;  // something is not written yet, and the observer knows
  bool finished_ = false;
};

}  // namespace veche
