#pragma once

#include <string>

#include "veche/train/glance.h"
#include "veche/train/loop.h"

namespace veche {

// What one node does in a run: steps, measuring, saving. When, the loop decides: loop.cc where all go
// together, own_pace_loop.cc where nobody waits.
class NodeWork {
 public:
  NodeWork(NodeParts parts, const LoopPlan& plan);

  const LoopPlan& plan() const { return plan_; }
  const NodeParts& parts() const { return p_; }
  Endpoint& endpoint() const { return p_.strategy_channel.endpoint; }
  Channel& control() const { return p_.control_channel; }
  std::size_t me() const { return static_cast<std::size_t>(endpoint().id().value); }
  bool first() const { return me() == 0; }
  Time now() const { return endpoint().now(); }
  std::uint64_t step() const { return step_; }  // steps done
  Time training() const { return training_; }   // how long they took
  void add_training(Time waited) { training_ += waited; }

  // Where the run is when nodes go at their own pace: the mean step of all nodes.
  std::uint64_t mean_step() const { return mean_step_; }
  void set_mean_step(std::uint64_t step) { mean_step_ = step; }

  void begin();
  void train_step();

  // Since the one before.
  Glance take_glance();
  // All that the node itself knows without the others; begins a new interval.
  NodeReport take_report();
  // With all others.
  Evaluation evaluate(const std::string& stopped);

  // Before they are measured or saved: a checkpoint that cannot be trained further is worth nothing.
  void check_parameters() const;
  void save(std::uint64_t number);
  // With all others; nothing where it is the last one saved.
  void checkpoint(std::uint64_t number);
  std::uint64_t last_checkpoint() const { return last_checkpoint_; }

 private:
  void compute(const Batch& batch);
  Time pause(Time length);
  void prune();
  template <class Moment>
  void communicate(Moment moment);
  double clip_scale();
  std::uint64_t schedule_step() const;
  bool tests_own_model(const std::string& stopped) const;
  void check(const Score& score, std::uint64_t step) const;
  [[noreturn]] void diverged(const std::string& what, std::uint64_t step) const;

  NodeParts p_;
  const LoopPlan plan_;
  std::uint64_t step_;
  Score train_;            // since the last evaluation
  Score evaluated_train_;  // what train_ was then
  Score since_glance_;
  std::int64_t images_ = 0;  // trained on by this process
  std::uint64_t lost_ = 0;
  Time compute_{0}, waiting_{0}, communication_{0}, training_{0};
  std::uint64_t last_checkpoint_ = p_.checkpoint;  // a resumed run need not save what it has just read
  std::uint64_t mean_step_ = p_.checkpoint;        // as the clerk last told
};

// What a run returns that somebody ended: it was not measured.
Evaluation interrupted_at(std::uint64_t step);

}  // namespace veche
