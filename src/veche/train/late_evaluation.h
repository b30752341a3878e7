#pragma once

#include <vector>

#include "veche/base/message.h"
#include "veche/data/dataset.h"
#include "veche/data/loader.h"
#include "veche/model/learner.h"
#include "veche/train/observer.h"
#include "veche/train/slots.h"

namespace veche {

struct LoopPlan;

// An evaluation of snapshots that nodes have sent while they train on: each holds parameters, buffers and a
// NodeReport. Made in small pieces, so that whoever makes it can do other things in between.
class LateEvaluation {
 public:
  // Of each snapshot the first so many numbers are parameters. The first `idle` nodes have models that nobody
  // trains: they do not count in the mean. Without a test set no learner is needed.
  LateEvaluation(std::vector<Message> snapshots, std::uint64_t step, std::size_t parameters, std::size_t idle,
                 Learner* learner, const Dataset* test, Slots& slots, const LoopPlan& plan);

  static Message snapshot(MessagePool& pool, Learner& learner, const NodeReport& report);

  // Does a piece; true when all is done.
  bool advance();
  const Evaluation& result() const { return result_; }

 private:
  std::span<const float> vectors(std::size_t node) const;
  bool next_model();
  void put_into_learner(std::span<const float> model);

  std::vector<Message> snapshots_;
  const std::size_t parameters_;
  const std::size_t idle_;
  Learner* learner_;
  const Dataset* test_;
  Slots& slots_;
  std::vector<std::size_t> own_;  // whose own models are tested, after the mean
  std::vector<float> mean_;
  BatchStorage storage_;
  std::size_t model_ = 0;  // 0: the mean; k: own_[k-1]
  std::size_t at_ = 0;     // sample of the test set
  Score score_;
  Evaluation result_;
};

}  // namespace veche
