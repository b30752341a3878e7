#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "veche/run.h"
#include "veche/runtime/record/node_member.h"
#include "veche/runtime/record/spread.h"

namespace veche {

// The object of `veche train --json` and summary.json; docs/runs.md describes its keys. The summary
// of a run with the quadratic learner also holds every node's parameters.
nlohmann::ordered_json summary(const RunResult& result);

// One line of metrics.jsonl. `members`: of each node, on a grid.
nlohmann::ordered_json metrics_line(const Evaluation& evaluation, double epoch,
                                    std::span<const NodeMember> members = {});

// Of the task's main measure, over all nodes whose own models were tested.
Spread spread_of_nodes(const Evaluation& evaluation);

// Distances of the nodes from their mean: l1 and l2 are averages over nodes, linf is the largest.
struct Disagreement {
  double cv = 0, l1 = 0, l2 = 0, linf = 0;
};
Disagreement disagreement(const Evaluation& evaluation);

Traffic total_sent(const Evaluation& evaluation);
Traffic total_samples_sent(const Evaluation& evaluation);  // under data.shuffle
Score total_train(const Evaluation& evaluation);
Staleness total_staleness(const Evaluation& evaluation);
Coding total_coding(const Evaluation& evaluation);
// Steps of all nodes in this process per second of training.
double updates_per_second(const Evaluation& evaluation);

}  // namespace veche
