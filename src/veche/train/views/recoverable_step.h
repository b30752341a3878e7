#pragma once

#include "veche/train/loop/step.h"
#include "veche/train/views/member_state.h"

namespace veche {

// Copies the strategy's state that is equal on all nodes; returns whether it has changed. Also
// copies what of it is this node's own.
bool keep_common(MemberState& self, const AttachedStrategy& strategy, const TrainingPlan& plan);

// The step of a member of a view: it also lends its state to newcomers.
class MemberStep : public TrainingStep {
 public:
  MemberStep(const NodeParts& node, GradientClip& clip, BatchFeed& feed, MemberState& self)
      : TrainingStep(node, clip, feed), self_(self) {}
  void begin() override;

 protected:
  void make() override;
  Update run_optimizer() override;
  Score train_stage(const Turn& turn, const std::function<void(Time)>& after_pass) override;
  void sleep(Time length) override;
  // Called when this stage has its gradient, before any other stage can have made the step.
  virtual void stage_passed() {}
  bool is_followed() const;  // by a newcomer that repeats this node's steps

  MemberState& self_;

 private:
  void lend();
};

// The step of nodes in step. Until all nodes have completed the exchange, its work is kept: if the
// view ends before, the model is as it was before the step, and the next view repeats the exchange.
class RecoverableStep : public MemberStep {
 public:
  RecoverableStep(const NodeParts& node, GradientClip& clip, BatchFeed& feed, MemberState& self,
                  GradientKeeper& keeper)
      : MemberStep(node, clip, feed, self), keeper_(keeper) {}
  // If it fails, the model is as it was before.
  void finish() override;

 protected:
  void make() override;
  bool next_gradient() override;
  bool compute_gradient(const Turn& turn) override;
  void exchange_and_update(bool has_samples) override;
  Update run_optimizer() override;
  void stage_passed() override;

 private:
  void note_for_next_view();
  void keep_gradient(bool has_samples);
  void tell_followers();

  GradientKeeper& keeper_;
};

// The step of an asynchronous strategy: a step counts as soon as the optimizer has made it.
class AsyncStep : public MemberStep {
 public:
  using MemberStep::MemberStep;

 protected:
  void exchange_and_update(bool has_samples) override;
  void update() override;

 private:
  bool updated_ = false;  // in this step
};

}  // namespace veche
