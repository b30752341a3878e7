#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "veche/comm/counted.h"
#include "veche/comm/tags.h"
#include "veche/train/loop/checkpointer.h"
#include "veche/train/loop/diverged.h"
#include "veche/train/loop/measure.h"
#include "veche/train/loop/observer.h"
#include "veche/train/loop/plan.h"
#include "veche/train/loop/progress_report.h"
#include "veche/train/loop/sample_exchange.h"
#include "veche/train/loop/trace.h"
#include "veche/train/pipeline/pipeline.h"
#include "veche/train/strategies/attached_strategy.h"
#include "veche/train/views/node_self.h"

namespace veche {

// What a process has for the nodes that live in it, while they train.
struct NodeServices {
  Prefetcher& prefetcher;
  const std::atomic<bool>& interrupted;                          // somebody wants the run to end
  Observer* observer = nullptr;                                  // told by the speaker only
  Checkpointer* checkpointer = nullptr;                          // none: nothing is kept
  std::function<std::unique_ptr<Learner>()> spare_learner = {};  // for node 0, to test snapshots with
  NodeId speaker = {};      // the one whose evaluations have everybody's reports, for this process
  bool low_memory = false;  // so that what rests gives back its memory
};

// One node: everything that is its own, and what it does in a run: steps, measuring, saving. When, the loops
// decide: loop.cc where all go in step, async_loop.cc where nobody is waited for. Belongs to the node's
// thread.
class Node {
 public:
  // Throws RequestError for what does not go together. The plan outlives it.
  Node(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Learner> learner, const TrainingPlan& plan,
       MessagePool pool)
      : Node(std::move(endpoint), NodeSelf(std::move(learner), plan), plan, std::move(pool)) {}
  // With what was left of it in another view.
  Node(std::unique_ptr<Endpoint> endpoint, NodeSelf self, const TrainingPlan& plan, MessagePool pool);

  // All that must be saved of it, in place; a strategy's state is about just these nodes.
  NodeState state(bool with_strategy = true);
  // The same in the layout of checkpoints of an earlier version; nothing: there was none. After reading into
  // it, `take_older_state`.
  std::optional<NodeState> older_state();
  void take_older_state();
  // Goes on from there, where the vectors and numbers already are.
  void resume(const NodeState& state, std::uint64_t checkpoint);

  // A node's part of a run, from its first batch to the last measure. Returns the last evaluation. Where
  // views change it may throw ViewChanged, or PeerLost, at any wait; `leave_view` is then all it has to do.
  Evaluation run(const NodeServices& services);
  // What goes on to the next view; the node is done.
  NodeSelf leave_view();

  Endpoint& endpoint() const { return *endpoint_; }
  Learner& learner() const { return *self_.learner; }
  const AttachedStrategy& strategy() const { return *strategy_; }
  Pruner& pruner() { return self_.pruner; }
  NodeSelf& self() { return self_; }
  Channel& control() { return control_; }
  Channel& progress() { return progress_; }
  const TrainingPlan& plan() const { return plan_; }
  const NodeServices& services() const { return *services_; }
  Observer* observer() const { return endpoint_->id() == services_->speaker ? services_->observer : nullptr; }
  const Dataset* test() const { return plan_.data.test.get(); }
  std::size_t me() const { return static_cast<std::size_t>(endpoint_->id().value); }
  std::size_t nodes() const { return static_cast<std::size_t>(endpoint_->size()); }
  bool first() const { return me() == 0; }
  // Those with the same part of the model, itself among them: all, unless the model is in stages.
  Endpoint& peers() const { return pipeline_ ? pipeline_->peers() : *endpoint_; }
  std::size_t replica() const { return static_cast<std::size_t>(peers().id().value); }
  std::size_t replicas() const { return static_cast<std::size_t>(peers().size()); }
  Pipeline* pipeline() const { return pipeline_.get(); }
  int stages() const { return pipeline_ ? plan_.pipeline->stages : 1; }
  const Trace& trace() const { return trace_; }
  Time now() const { return endpoint_->now(); }

  std::uint64_t step() const { return self_.step; }  // steps done
  Time training() const { return self_.training; }   // how long they took
  void add_training(Time waited) { self_.training += waited; }
  // Where an asynchronous run is: the mean step of all nodes.
  std::uint64_t mean_step() const { return self_.mean_step; }
  void set_mean_step(std::uint64_t step) { self_.mean_step = step; }

  void train_step();

  // Since the one before.
  ProgressReport take_progress();
  // All that the node itself knows without the others; begins a new interval.
  NodeReport take_report();
  // With all others. Only the one who speaks for its process is told of every node: a copy for each of ten
  // thousand would not fit. Where nobody learns there are no models to compare.
  Evaluation evaluate(StopReason stopped);
  // With all others: the mean of the part of the model that this node has, and the test score of the whole.
  Message mean_model();
  Score score_of_mean(std::span<const float> mean, const Tested& tested = {});

  // Before they are measured or saved: a checkpoint that cannot be trained further is worth nothing.
  void check_parameters() const;
  void save(std::uint64_t number);
  // With all others; nothing where it is the last one saved.
  void checkpoint(std::uint64_t number);
  std::uint64_t last_checkpoint() const { return self_.last_checkpoint; }
  // The strategy's last word; where it fails, the model is what it was.
  void finish();

 private:
  void open_data();
  void note_for_next_view();
  void compute(const Batch& batch, std::size_t samples);
  bool take_gradient();
  void keep_gradient(bool has_samples);
  void forget_gradient();
  void exchange_and_step(bool has_samples);
  void update();
  void undo_step();
  void count_step_made();
  void lend();
  void tell_followers();
  bool keep_common();
  Score pass(const Batch& batch, std::size_t samples);
  Score staged_pass(const Batch& batch, std::size_t samples);
  Trace* traced() { return plan_.trace ? &trace_ : nullptr; }
  Time pause(Time length);
  void prune();
  void limit_gradient();
  template <class Moment>
  void communicate(Moment moment);
  double clip_scale();
  std::uint64_t schedule_step() const;
  Traffic strategy_sent() const;
  Evaluation measure_times(StopReason stopped);
  bool tests_own_model(StopReason stopped) const;
  // Tells the observer how much of an evaluation has been tested; empty where nobody observes.
  Tested testing_told(StopReason stopped) const;
  void check(const Score& score, std::uint64_t step) const;
  [[noreturn]] void diverged(const std::string& what, std::uint64_t step) const;

  const TrainingPlan& plan_;
  const std::unique_ptr<Endpoint> endpoint_;
  MessagePool pool_;
  AdaptiveTimeout timeout_;
  NodeSelf self_;
  Trace trace_;
  const std::unique_ptr<Pipeline> pipeline_;  // none: it has the whole model
  Channel control_{*endpoint_, pool_, timeout_, tags::control};
  Channel progress_{*endpoint_, pool_, timeout_, tags::progress};
  Channel samples_{peers(), pool_, timeout_, tags::samples};
  CountedEndpoint counted_{peers()};  // so that who watches sees how much goes where
  Channel talk_{counted_, pool_, timeout_, tags::strategy};
  Channel alike_{peers(), pool_, timeout_, tags::stage_peers};
  std::optional<GradientKeeper> keeper_;  // where work is kept
  std::optional<AttachedStrategy> strategy_;
  const NodeServices* services_ = nullptr;  // while it runs
  bool updated_ = false;                    // the optimiser has made the step under way
  std::optional<SampleExchange> exchange_;  // none: every node keeps its samples
  std::optional<Loader> loader_;            // none: it has no samples, or its learner brings them
};

// What a run returns that somebody ended: it was not measured.
Evaluation interrupted_at(std::uint64_t step);

}  // namespace veche
