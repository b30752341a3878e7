#pragma once

#include "veche/train/loop/membership.h"
#include "veche/train/views/recovery_state.h"

namespace veche {

// For members that come and go: a lost node ends the view and not the run, an interrupted member
// leaves and the others go on, and every process keeps a record of its own.
class ViewMembership : public Membership {
 public:
  ViewMembership(const std::atomic<bool>& interrupted, RecoveryState& recovery)
      : Membership(interrupted), interrupted_(interrupted), recovery_(recovery) {}

  bool stops_run() const override { return false; }
  bool leaves_run() const override { return interrupted_; }
  bool survives_losses() const override { return true; }
  // The strategy's state may depend on which nodes take part.
  Records records() const override { return {Records::Kept::by_every_process, false}; }
  // Evaluates and saves if the end of the last view cut that off.
  StopReason before_first_step(Evaluator& evaluator, CheckpointWriter& checkpoints) override;
  bool is_new_evaluation(std::uint64_t step, StopReason stopped) override;
  void note_target(bool reached) override { recovery_.reached_target = reached; }

 private:
  const std::atomic<bool>& interrupted_;
  RecoveryState& recovery_;
};

}  // namespace veche
