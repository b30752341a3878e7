#pragma once

#include <span>

#include "veche/report.h"
#include "veche/train/loop/progress_report.h"

namespace veche {

// Who watches a run. Called in node 0's process, by one thread at a time.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_progress(const Progress& progress) = 0;
  // Every node, by number, with each progress; not where a node is a replica of several, nor on members of a
  // grid that do not have node 0.
  virtual void on_nodes(std::uint64_t /*step*/, std::span<const ProgressReport> /*nodes*/) {}
  virtual void on_measuring() {}               // an evaluation begins: it may take a while
  virtual void on_testing(double /*part*/) {}  // of the samples that node 0 tests in it are done; often
  virtual void on_evaluation(const Evaluation& evaluation) = 0;
};

}  // namespace veche
