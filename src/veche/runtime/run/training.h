#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "veche/comm/cluster.h"
#include "veche/config.h"
#include "veche/learner.h"
#include "veche/run.h"
#include "veche/train/loop/diverged.h"
#include "veche/train/loop/observer.h"

namespace veche {

// Who watches a run from outside.
class RunObserver : public Observer {
 public:
  // The only one called on every rank of a job.
  virtual void on_start(const RunInfo& /*info*/) {}
  // Where members come and go: the view that begins now has other nodes, steps and epochs.
  virtual void on_view(const RunInfo& /*info*/) {}
  // A sentence for a person, such as a damaged checkpoint that was passed over.
  virtual void on_notice(const std::string& /*sentence*/) {}
};

struct TrainingRequest {
  Settings settings;
  std::filesystem::path resume = {};  // a run's folder to go on with; empty: a new run
  bool restart = false;               // with `resume`: begin again there, what it has is put aside
  // A learner of the caller's own for each node; none: the model that the settings name.
  std::function<std::unique_ptr<Learner>(NodeId)> learner = {};
  RunObserver* observer = nullptr;
  const std::atomic<bool>* interrupted = nullptr;  // set it to end the run after the step under way, saved
  bool keep = true;                                // false: leave no folder behind
  // The job whose ranks train; none: all nodes are threads of this process. Every rank makes the same
  // request; rank 0 alone observes and writes the run's folder, but for the checkpoints of the others' nodes.
  Job* job = nullptr;
  // Another engine than threads, for so many nodes, where there is no job.
  std::function<std::unique_ptr<Cluster>(int nodes)> cluster = {};
  bool crowded = false;  // nodes give back what they can while they wait, as they do where memory is short
  // Wraps every node's endpoint, in tests: a network with bad luck.
  std::function<std::unique_ptr<Endpoint>(std::unique_ptr<Endpoint>)> network = {};
};

// The settings of a run by all ranks of a job, or of one in this process alone. Throws
// RequestError, also where a launcher has started several processes that know nothing of each other.
Settings settings_for(Config config, const Job* job);

// Trains. Everything about the request is checked before anything is written: RequestError. A failure under
// way is a RunError, and what was saved before it stays.
RunResult run_training(const TrainingRequest& request);

}  // namespace veche
