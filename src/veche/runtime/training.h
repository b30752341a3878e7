#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "veche/comm/cluster.h"
#include "veche/model/learner.h"
#include "veche/runtime/config.h"
#include "veche/train/diverged.h"
#include "veche/train/observer.h"

namespace veche {

// What is known of a run before its first step.
struct RunInfo {
  std::filesystem::path folder;  // empty when nothing is kept
  std::string strategy;
  std::string topology;  // "ring:4, metropolis"; empty when the strategy uses none
  std::string model;
  std::string data;  // empty when the learner brings its own
  int nodes = 1;
  std::size_t parameters = 0;
  std::uint64_t steps = 0;
  double steps_per_epoch = 0;    // 0 when there is no data set
  std::uint64_t first_step = 0;  // above 0 when resumed
};

// Who watches a run from outside.
class RunObserver : public Observer {
 public:
  // The only one called on every rank of a job.
  virtual void on_start(const RunInfo& /*info*/) {}
  // A sentence for a person, such as a damaged checkpoint that was passed over.
  virtual void on_notice(const std::string& /*sentence*/) {}
};

struct TrainingRequest {
  Settings settings;
  std::filesystem::path resume = {};  // a run's folder to go on with; empty: a new run
  // A learner of the caller's own for each node; none: the model that the settings name.
  std::function<std::unique_ptr<Learner>(NodeId)> learner = {};
  RunObserver* observer = nullptr;
  const std::atomic<bool>* interrupted = nullptr;  // set it to end the run after the step under way, saved
  bool keep = true;                                // false: leave no folder behind
  // The ranks that train together; none: all nodes are threads of this process. Every rank makes the same
  // request; rank 0 alone observes and writes the run's folder, but for the checkpoints of the others' nodes.
  Job* job = nullptr;
  // Another engine than threads, for so many nodes, where there is no job.
  std::function<std::unique_ptr<Cluster>(int nodes)> cluster = {};
  // Wraps every node's endpoint, in tests: a network with bad luck.
  std::function<std::unique_ptr<Endpoint>(std::unique_ptr<Endpoint>)> network = {};
};

struct TrainingResult {
  RunInfo info;
  Evaluation last;  // its `stopped` tells why the run ended
  // By node; those that live on other ranks only where they are few (a million in all), else empty.
  std::vector<std::vector<float>> parameters;
  // Met in this process and passed over (data.bad = "skip"), and sentences about the first of them.
  std::uint64_t damaged_samples = 0;
  std::vector<std::string> damage;
};

// Trains. Everything about the request is checked before anything is written: RequestError. A failure under
// way is a RunError, and what was saved before it stays.
TrainingResult run_training(const TrainingRequest& request);

}  // namespace veche
