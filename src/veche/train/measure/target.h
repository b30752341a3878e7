#pragma once

#include "veche/measures.h"
#include "veche/options.h"
#include "veche/stop_reason.h"

namespace veche {

// The value of a measure at which a run ends: run.target, or run.target_accuracy.
struct Target {
  const Measure* measure = nullptr;
  double value = 0;
  bool exclusive = false;  // the value itself does not suffice
  StopReason reason = StopReason::target;

  // Throws RequestError if the learner does not tell what the measure follows from.
  bool is_reached_by(const TestResult& result) const;
};

// `wanted`: a number, of the main measure of the task, or words such as "perplexity < 8". Throws
// RequestError naming run.target, with the nearest valid choice.
Target read_target(const Value& wanted, Task task);

}  // namespace veche
