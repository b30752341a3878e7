#pragma once

#include <string>

#include "veche/report.h"
#include "veche/train/loop/observer.h"

namespace veche {

// Observes a run from outside the training loop.
class RunObserver : public Observer {
 public:
  // The only callback that every rank of a job receives.
  virtual void on_start(const RunInfo& /*info*/) {}
  // On a grid: the view that begins now has other nodes, steps and epochs.
  virtual void on_view(const RunInfo& /*info*/) {}
  // A sentence for a person, such as a damaged checkpoint that was passed over.
  virtual void on_notice(const std::string& /*sentence*/) {}
};

}  // namespace veche
