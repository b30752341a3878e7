#pragma once

#include <atomic>

#include "veche/stop_reason.h"
#include "veche/train/loop/records.h"

namespace veche {

class CheckpointWriter;
class Evaluator;

// Whether a run keeps its nodes. The loops ask this object wherever that makes a difference. This
// class is for a run whose nodes stay the same from the first step to the last: a lost node ends
// the run, the user's interrupt stops all nodes together, and the process of node 0 keeps the only
// record. ViewMembership (train/views) is for members that come and go.
class Membership {
 public:
  explicit Membership(const std::atomic<bool>& interrupted) : interrupted_(interrupted) {}
  virtual ~Membership() = default;

  // The user's interrupt: whether it shall stop the run for all nodes, or make this node leave the
  // others.
  virtual bool stops_run() const { return interrupted_; }
  virtual bool leaves_run() const { return false; }
  // Whether the run goes on, in another view, when a node is lost.
  virtual bool survives_losses() const { return false; }
  virtual Records records() const { return {Records::Kept::by_first_node, true}; }

  // Before the first step of nodes in step: whether the run has to stop at once. Collective.
  virtual StopReason before_first_step(Evaluator& evaluator, CheckpointWriter& checkpoints);
  // After an evaluation: whether the observer has to hear of it, or has heard the same one before.
  virtual bool is_new_evaluation(std::uint64_t /*step*/, StopReason /*stopped*/) { return true; }
  // After an evaluation: whether the averaged model has reached the run's target.
  virtual void note_target(bool /*reached*/) {}

 private:
  const std::atomic<bool>& interrupted_;
};

}  // namespace veche
