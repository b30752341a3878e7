#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "veche/comm/cluster.h"
#include "veche/config.h"
#include "veche/runtime/plan/run_plan.h"
#include "veche/runtime/record/run_observer.h"
#include "veche/runtime/run/learner_factory.h"

namespace veche {

// A training run with a fixed number of nodes, and its engine.
struct TrainingRequest {
  Settings settings;
  std::filesystem::path resume = {};  // the folder of a run to resume; empty: a new run
  bool restart = false;               // with `resume`: start over; the folder's contents are moved aside
  MakeLearner learner = {};           // none: the model that the settings name
  RunObserver* observer = nullptr;
  const std::atomic<bool>* interrupted = nullptr;  // set it to stop and save after the current step
  bool keep = true;                                // false: leave no folder behind
  // The first steps alone, without evaluations and tests: what a run costs, measured before it
  // starts. Needs keep = false.
  std::optional<std::uint64_t> trial_steps = {};
  // The job whose ranks train; none: all nodes are threads of this process. Every rank makes the
  // same request. Rank 0 alone observes and writes the run's folder, except for the checkpoints of
  // other ranks' nodes.
  Job* job = nullptr;
  // Makes another engine than threads for that many nodes, where there is no job.
  std::function<std::unique_ptr<Cluster>(int nodes)> cluster = {};
  bool low_memory = false;  // idle nodes free what memory they can, as they do where memory is short
  // Wraps every node's endpoint, in tests: a faulty network.
  std::function<std::unique_ptr<Endpoint>(std::unique_ptr<Endpoint>)> network = {};
};

// The settings of a run by all ranks of a job, or by this process alone. Throws RequestError, also
// where a launcher has started several processes that cannot communicate.
Settings settings_for(Config config, const Job* job);

// Collective over the ranks of the job: checks the request, opens the data and plans the run.
// Throws RequestError.
std::unique_ptr<const RunPlan> plan_request(const TrainingRequest& request);

}  // namespace veche
