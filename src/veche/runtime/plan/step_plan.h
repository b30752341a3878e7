#pragma once

#include <cstdint>

#include "veche/config.h"
#include "veche/runtime/plan/node_speeds.h"
#include "veche/runtime/plan/run_plan.h"

namespace veche {

// How many steps a run has, and what follows from their number. `view` is null in a run of fixed
// nodes.

SamplePlan count_samples(const Settings& settings, const NodeSpeeds& speeds, const DataPlan& data,
                         const NodesInView* view);
// Steps of one pass over the data: of the node with the most samples, or, where nodes share the
// steps, on the average. 0 without a data set.
double count_steps(const Settings& settings, const SamplePlan& samples, const Partition& partition);
std::uint64_t total_steps(const Settings& settings, double steps_per_epoch, const NodesInView* view);

RateSchedule plan_rate(const Settings& settings, std::uint64_t steps, double steps_per_epoch,
                       const NodesInView* view);
// `epoch`: the steps of one, 0 without a data set. Throws RequestError where pruning would not end
// in time.
PruningPlan plan_pruning(const Settings& settings, std::uint64_t epoch, std::uint64_t steps);

}  // namespace veche
