#pragma once

#include <string>

#include "veche/base/files/append_file.h"
#include "veche/runtime/record/event_file.h"
#include "veche/runtime/record/nodes_file.h"
#include "veche/runtime/record/progress_file.h"
#include "veche/runtime/record/run_folder.h"
#include "veche/runtime/record/run_observer.h"

namespace veche {

// Writes every evaluation to metrics.jsonl and to TensorBoard's events, how it goes in between to
// progress.jsonl and nodes.json, and passes everything on. While the disk is full the run goes on: what is to
// be written is kept in memory until there is room again, and the observer gets a notice of it, and of what
// is lost in the end.
class Recorder : public Observer {
 public:
  // When a run is resumed, what was measured after its checkpoint is forgotten: it will be measured again.
  // Throws RunError when the files cannot be written to. `next` may be null.
  Recorder(const RunFolder& folder, const RunInfo& info, RunObserver* next);
  ~Recorder() override;

  // Members have come or gone: from now on there are other nodes, and other steps to an epoch.
  void on_view(const RunInfo& info) { info_ = info; }

  void on_progress(const Progress& progress) override;
  void on_nodes(std::uint64_t step, std::span<const ProgressReport> nodes) override;
  void on_measuring() override;
  void on_testing(double part) override;
  void on_evaluation(const Evaluation& evaluation) override;

  // When the run has ended. Throws RunError, a sentence, when something could not be written to the last.
  void finish();

 private:
  void write_kept();
  std::string loss();  // a sentence; empty when nothing is lost

  RunInfo info_;
  RunObserver* const next_;
  AppendFile lines_;
  EventFile events_;
  ProgressFile progress_;
  NodesFile nodes_;
  bool behind_ = false;  // something is kept, and a notice said so
  bool finished_ = false;
};

}  // namespace veche
