#pragma once

#include <fstream>

#include "veche/runtime/event_file.h"
#include "veche/runtime/run_folder.h"
#include "veche/runtime/training.h"

namespace veche {

// Writes every evaluation to metrics.jsonl and to TensorBoard's events, and passes everything on.
class Recorder : public Observer {
 public:
  // When a run is resumed, what was measured after its checkpoint is forgotten: it will be measured again.
  Recorder(const RunFolder& folder, const RunInfo& info, Observer* next);

  void on_progress(const Progress& progress) override;
  void on_measuring() override;
  void on_evaluation(const Evaluation& evaluation) override;

 private:
  const RunInfo info_;
  Observer* const next_;
  std::ofstream lines_;
  EventFile events_;
};

}  // namespace veche
