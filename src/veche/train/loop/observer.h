#pragma once

#include "veche/report.h"

namespace veche {

// Who watches a run. Called in node 0's process, by one thread at a time.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_progress(const Progress& progress) = 0;
  virtual void on_measuring() {}               // an evaluation begins: it may take a while
  virtual void on_testing(double /*part*/) {}  // of the samples that node 0 tests in it are done; often
  virtual void on_evaluation(const Evaluation& evaluation) = 0;
};

}  // namespace veche
