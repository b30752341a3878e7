#pragma once

#include <vector>

#include "veche/data/feed/loader.h"
#include "veche/learner.h"
#include "veche/message.h"
#include "veche/report.h"
#include "veche/train/loop/plan.h"

namespace veche {

// What a node has sent of itself while it trains on.
struct Snapshot {
  Message message;  // holds the numbers at its beginning
  std::size_t size = 0;
  NodeReport report;

  std::span<const float> numbers() const {
    return message.first(size * sizeof(float)).as<float>();
  }  // parameters, buffers
};

// An evaluation of snapshots, made in small pieces, so that whoever makes it can do other things in between.
class SnapshotEvaluation {
 public:
  // Of each snapshot the first so many numbers are parameters. Without a test set no learner is needed.
  SnapshotEvaluation(std::vector<Snapshot> snapshots, std::uint64_t step, std::size_t parameters,
                     Learner* learner, Endpoint& endpoint, const TrainingPlan& plan);

  // Does a piece; true when all is done.
  bool advance();
  const Evaluation& result() const { return result_; }

 private:
  bool next_model();
  void put_into_learner(std::span<const float> model);

  const std::vector<Snapshot> snapshots_;
  const std::size_t parameters_;
  Learner* const learner_;
  Endpoint& endpoint_;
  const Dataset* const test_;
  std::vector<std::size_t> own_;  // whose own models are tested, after the mean
  std::vector<float> mean_;
  BatchStorage storage_;
  std::size_t model_ = 0;  // 0: the mean; k: own_[k-1]
  std::size_t at_ = 0;     // sample of the test set
  Score score_;
  Evaluation result_;
};

}  // namespace veche
