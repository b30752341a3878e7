#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "veche/batch.h"
#include "veche/coding.h"
#include "veche/endpoint.h"
#include "veche/staleness.h"
#include "veche/stop_reason.h"
#include "veche/vector_math.h"

namespace veche {

// What is known of a run before its first step.
struct RunInfo {
  std::filesystem::path folder;  // empty when nothing is kept
  std::string strategy;
  std::string topology;  // "ring:4, metropolis"; empty when the strategy uses none
  std::string codec;     // "topk:0.01"; empty when floats travel as they are
  std::string model;
  std::string data;  // empty when the learner brings its own
  int rank = 0;      // of this process among those that train together; one speaks for all
  int nodes = 1;
  int stages = 1;  // of the model: so many nodes have one together
  std::size_t parameters = 0;
  std::uint64_t steps = 0;
  double steps_per_epoch = 0;    // 0 when there is no data set
  std::uint64_t first_step = 0;  // above 0 when resumed
  // Where members come and go, an epoch has a different number of steps in each view: the present view began
  // at epochs_at, when so many passes over the data had been made.
  std::uint64_t epochs_at = 0;
  double epochs_before = 0;

  // Passes over the data after so many steps, of the present view or a later one.
  double epoch(std::uint64_t step) const {
    if (steps_per_epoch == 0) return 0;
    return epochs_before + (static_cast<double>(step) - static_cast<double>(epochs_at)) / steps_per_epoch;
  }
};

// How it goes, about twice a second.
struct Progress {
  std::uint64_t step = 0;  // steps done
  Score train;             // all nodes, since the last report
  double cv = 0;           // how far the nodes differ, from a sample of the parameters
  double images_per_second = 0;
};

// What a stage of a cut model (pipeline.stages) has used in all.
struct StageReport {
  int stages = 1;                     // of the model; 1: it is in one piece, and nothing below is told
  int stage = 0;                      // this node's
  double compute_seconds = 0;         // in its passes
  double bubble_seconds = 0;          // for activations, gradients and a place to compute
  Traffic sent;                       // activations and their gradients
  std::uint64_t most_bytes_held = 0;  // by its passes at once
};

// One node at one evaluation.
struct NodeReport {
  Score train;                  // since the last evaluation
  std::int64_t images = 0;      // trained on by this process
  Score test;                   // of its own model; count 0 when it was not asked to
  Distance from_mean;           // of its parameters
  std::uint64_t steps = 0;      // made by this node, in all
  std::uint64_t lost = 0;       // of these steps, whose results were lost (cluster.lose)
  double training_seconds = 0;  // without evaluation; the others below are parts of it
  double compute_seconds = 0;   // with the sleep that makes a slow node slow
  double waiting_seconds = 0;   // for a slot, for others, or stalled
  double communication_seconds = 0;
  Staleness staleness;   // of what it has applied
  Coding coding;         // of what it has sent
  Traffic sent;          // by the strategy
  Traffic samples_sent;  // lent to others, data.shuffle
  StageReport stage;
};

// All nodes at one evaluation. Cumulative but for the train scores. Of a model in stages every node has its
// own part's distances, and the first stage the scores of its replica's model.
struct Evaluation {
  std::uint64_t step = 0;
  double seconds = 0;  // of training, without evaluation, until the last node was done
  double images_per_second = 0;
  double rate = 0;      // learning rate of the last step
  Score average_model;  // test score of the averaged parameters
  double cv = 0;        // coefficient of variation: rms distance from the mean over rms of the mean
  std::vector<NodeReport> nodes;
  StopReason stopped = StopReason::none;  // why the run ends here
};

}  // namespace veche
