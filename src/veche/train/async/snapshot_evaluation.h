#pragma once

#include <optional>
#include <vector>

#include "veche/data/feed/loader.h"
#include "veche/learner.h"
#include "veche/message.h"
#include "veche/report.h"
#include "veche/train/loop/plan.h"
#include "veche/train/measure/class_scores.h"

namespace veche {

// A node's model and report, sent while it trains on.
struct Snapshot {
  Message message;  // begins with the numbers
  std::size_t size = 0;
  NodeReport report;

  std::span<const float> numbers() const {
    return message.first(size * sizeof(float)).as<float>();
  }  // parameters, buffers
};

// An evaluation of snapshots, in small pieces, so that the coordinator can answer messages in
// between.
class SnapshotEvaluation {
 public:
  // The first `parameters` numbers of each snapshot are parameters. The learner may be null without
  // a test set. The plan outlives it.
  SnapshotEvaluation(std::vector<Snapshot> snapshots, std::uint64_t step, std::size_t parameters,
                     Learner* learner, Endpoint& endpoint, const TrainingPlan& plan);

  // Does one piece; returns true when the evaluation is complete.
  bool advance();
  const Evaluation& result() const { return result_; }

 private:
  bool next_model();
  void write_sample();
  void put_into_learner(std::span<const float> model);

  const std::vector<Snapshot> snapshots_;
  const std::size_t parameters_;
  Learner* const learner_;
  Endpoint& endpoint_;
  const TrainingPlan& plan_;
  const Dataset* const test_;
  std::vector<std::size_t> own_;  // nodes whose own models are tested, after the mean
  std::vector<float> mean_;
  BatchStorage storage_;
  std::size_t model_ = 0;  // 0: the mean; k: own_[k-1]
  std::size_t at_ = 0;     // sample of the test set
  Score score_;
  std::optional<ClassScores> classes_;  // of the mean
  Evaluation result_;
};

}  // namespace veche
