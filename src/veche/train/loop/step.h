#pragma once

#include <functional>
#include <span>

#include "veche/driven_learner.h"
#include "veche/train/loop/batch_feed.h"
#include "veche/train/loop/gradient_clip.h"
#include "veche/train/loop/node_parts.h"

namespace veche {

// A node's training step, and what frames the steps: strategy.start and strategy.finish. A run
// whose members come and go derives from it to recover from a step that was cut off. This is
// inheritance and not a wrapper, as recovery acts between the phases of a step, on what they share:
// it keeps the gradient before the exchange, puts the parameters back if the exchange throws, and
// skips a pass or an update made before. Each phase is therefore a virtual function. Belongs to the
// node's thread.
class TrainingStep {
 public:
  TrainingStep(const NodeParts& node, GradientClip& clip, BatchFeed& feed)
      : node_(node),
        clip_(clip),
        driven_(dynamic_cast<DrivenLearner*>(node.model.learner.get())),
        feed_(feed) {}
  virtual ~TrainingStep() = default;

  // Before the first step. Collective.
  virtual void begin();
  // Whether the learner's gradients come from a training loop outside the run.
  bool is_driven() const { return driven_ != nullptr; }
  // Before each step of a driven learner: waits for its gradient. Returns whether there is one.
  bool await_gradient();
  // One step. Throws PeerLost, and Diverged if the loss or the gradient is not a number.
  void run();
  // After the last step. Collective.
  virtual void finish();
  // After the last measurement.
  void end();

 protected:
  using Turn = BatchFeed::Turn;
  struct Update {
    std::span<float> parameters;  // where the optimizer wrote the new ones
    double rate = 0, scale = 1;   // learning rate, and the gradient's factor
  };

  // The whole step but for its time.
  virtual void make();
  // Returns whether the learner's gradient is of samples; else it is zero.
  virtual bool compute_gradient(const Turn& turn);
  // The strategy's exchange before the optimizer, the optimizer, and the strategy's exchange after
  // it.
  virtual void exchange_and_update(bool has_samples);
  virtual void update();
  virtual Update run_optimizer();
  // The passes of this node's stage, if the model is in stages.
  virtual Score train_stage(const Turn& turn, const std::function<void(Time)>& after_pass);

  virtual void sleep(Time length);
  virtual bool next_gradient() { return driven_->next(node_.counters.step); }

  std::span<float> parameters() const { return node_.model.learner->parameters(); }
  std::span<float> gradients() const { return node_.model.learner->gradients(); }
  Time now() const { return node_.links.now(); }

  NodeParts node_;
  GradientClip& clip_;

 private:
  DrivenLearner* const driven_;  // null: the learner computes gradients itself
  bool has_gradient_ = true;     // for this step; false only where the learner is driven

  Score pass(const Turn& turn);
  Score staged_pass(const Turn& turn);
  void compute(const Turn& turn);
  Time pause(Time length);
  void prune();
  template <class Exchange>
  void communicate(Exchange exchange);

  BatchFeed& feed_;
};

}  // namespace veche
