#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/coding.h"
#include "veche/endpoint.h"
#include "veche/measures.h"
#include "veche/staleness.h"
#include "veche/stop_reason.h"
#include "veche/vector_math.h"

namespace veche {

// Facts about a run that are known before its first step.
struct RunInfo {
  std::filesystem::path folder;  // empty when the run leaves no folder
  std::string strategy;
  std::string topology;  // "ring:4, metropolis"; empty when the strategy has no topology
  std::string codec;     // "topk:0.01"; empty without compression
  std::string model;
  std::string data;  // empty when the learner brings its own data
  Task task = Task::classification;
  int rank = 0;  // rank of this process in the job; rank 0 reports for all
  int nodes = 1;
  int stages = 1;  // pipeline stages of the model; this many nodes hold one replica
  std::size_t parameters = 0;
  std::uint64_t steps = 0;
  double steps_per_epoch = 0;    // 0 without a data set
  std::uint64_t first_step = 0;  // above 0 in a resumed run
  // When members join and leave, the number of steps per epoch changes with each view. The current
  // view began at step epochs_at, after epochs_before passes over the data.
  std::uint64_t epochs_at = 0;
  double epochs_before = 0;

  // Passes over the data after `step` steps. `step` lies in the current view or later.
  double epoch(std::uint64_t step) const {
    if (steps_per_epoch == 0) return 0;
    return epochs_before + (static_cast<double>(step) - static_cast<double>(epochs_at)) / steps_per_epoch;
  }
};

// A progress report, sent about twice a second.
struct Progress {
  std::uint64_t step = 0;         // steps completed
  Score train;                    // all nodes, since the last report
  double cv = 0;                  // disagreement between nodes, estimated from a sample of the parameters
  double targets_per_second = 0;  // samples, or tokens of a text
};

// Cumulative cost of one pipeline stage (pipeline.stages).
struct StageReport {
  int stages = 1;                     // stages of the model; 1: not a pipeline, the fields below are unset
  int stage = 0;                      // stage of this node
  double compute_seconds = 0;         // time in forward and backward passes
  double bubble_seconds = 0;          // time waiting for activations, gradients and a compute slot
  Traffic sent;                       // activations and their gradients
  std::uint64_t most_bytes_held = 0;  // peak memory held by passes in flight
};

// One node at one evaluation.
struct NodeReport {
  Score train;                  // since the last evaluation
  std::int64_t targets = 0;     // samples, or tokens of a text, that this process trained on
  Score test;                   // score of the node's own model; count 0 when not evaluated
  Distance from_mean;           // distance of its parameters from the mean
  std::uint64_t steps = 0;      // steps made by this node in total
  std::uint64_t lost = 0;       // steps whose results were dropped (cluster.lose)
  double training_seconds = 0;  // without evaluation; the times below are parts of it
  double compute_seconds = 0;   // includes the sleep that simulates a slow node
  double waiting_seconds = 0;   // for a compute slot, for other nodes, or stalled
  double communication_seconds = 0;
  Staleness staleness;   // age of the updates it applied
  Coding coding;         // compression of the messages it sent
  Traffic sent;          // sent by the strategy
  Traffic samples_sent;  // samples sent to other nodes (data.shuffle)
  StageReport stage;
};

// All nodes at one evaluation. Everything is cumulative except the train scores. In a pipeline each
// node reports the distance of its own part, and the first stage reports the scores of its replica.
struct Evaluation {
  std::uint64_t step = 0;
  double seconds = 0;             // training time without evaluation, until the last node finished
  double targets_per_second = 0;  // samples, or tokens of a text
  double rate = 0;                // learning rate of the last step
  TestResult average_model;       // of the averaged parameters; its task is known without a test, too
  double cv = 0;                  // coefficient of variation: rms distance from the mean over rms of the mean
  std::vector<NodeReport> nodes;
  StopReason stopped = StopReason::none;  // why the run ends here
  std::string sample = {};                // of a language model: a text that the averaged model wrote
};

}  // namespace veche
