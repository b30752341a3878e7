#pragma once

#include <span>

#include "veche/report.h"
#include "veche/train/loop/progress_report.h"

namespace veche {

// Watches a run. Called in node 0's process, by one thread at a time.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_progress(const Progress& progress) = 0;
  // The reports of all nodes, by number, with each progress. Not called if the model is in stages,
  // nor in members of a grid that do not run node 0.
  virtual void on_nodes(std::uint64_t /*step*/, std::span<const ProgressReport> /*nodes*/) {}
  virtual void on_measuring() {}               // an evaluation begins; it may take long
  virtual void on_testing(double /*part*/) {}  // of node 0's test samples are done; called often
  virtual void on_evaluation(const Evaluation& evaluation) = 0;
};

}  // namespace veche
