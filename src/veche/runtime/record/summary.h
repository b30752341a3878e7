#pragma once

#include <nlohmann/json.hpp>

#include "veche/run.h"

namespace veche {

// The object of `veche train --json` and summary.json; its keys are in docs/runs.md. A summary of a run with
// the quadratic learner also holds every node's parameters.
nlohmann::ordered_json summary(const RunResult& result);

// One line of metrics.jsonl.
nlohmann::ordered_json metrics_line(const Evaluation& evaluation, double epoch);

// Mean, population standard deviation and range of the test accuracies of the nodes whose own models were
// tested, and how many these are.
struct Spread {
  double mean = 0, std = 0, min = 0, max = 0;
  std::size_t nodes = 0;
};
Spread accuracy_spread(const Evaluation& evaluation);

// Distances of the nodes from their mean: l1 and l2 averaged over nodes, linf the largest.
struct Disagreement {
  double cv = 0, l1 = 0, l2 = 0, linf = 0;
};
Disagreement disagreement(const Evaluation& evaluation);

Traffic total_sent(const Evaluation& evaluation);
Traffic total_samples_sent(const Evaluation& evaluation);  // under data.shuffle
Score total_train(const Evaluation& evaluation);
Staleness total_staleness(const Evaluation& evaluation);
Coding total_coding(const Evaluation& evaluation);
// Steps made by any node in this process, over the seconds of training.
double updates_per_second(const Evaluation& evaluation);

}  // namespace veche
