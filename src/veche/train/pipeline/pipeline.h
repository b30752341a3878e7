#pragma once

#include <functional>
#include <memory>

#include "veche/channel.h"
#include "veche/dataset.h"
#include "veche/model/stage.h"
#include "veche/report.h"
#include "veche/train/loop/measure.h"
#include "veche/train/loop/trace.h"
#include "veche/train/pipeline/plan.h"

namespace veche {

// A node's part in its replica: drives the passes of its stage in the order of the schedule and sends what
// they make to the stages before and behind. All stages of a replica call the same things in the same order.
// While it waits it holds no place to compute, so that any number of stages share a few cores. Throws
// PeerLost, naming the stage, when one of them is gone. Belongs to the node's thread.
class Pipeline {
 public:
  // All outlive it; `trace` may be null.
  Pipeline(Endpoint& all, MessagePool& pool, AdaptiveTimeout& timeout, Stage& stage, const PipelinePlan& plan,
           Trace* trace);

  int stage() const { return stage_number_; }
  int replica() const { return plan_.replica_of(all_.id()); }
  bool first() const { return stage_number_ == 0; }
  bool last() const { return stage_number_ + 1 == plan_.stages; }
  // The nodes of this stage as a cluster of their own, by replica.
  Endpoint& peers() const { return *peers_; }

  // The passes of a step over so many samples, which are in `batch` at the first stage and need not be there
  // elsewhere. Afterwards the stage's gradient is that of the batch's mean loss. The first stage is told the
  // score. `after_pass` hears how long each took, and `passed`, which may be empty, when this stage has its
  // gradient: before another one can.
  Score train(const Batch& batch, std::uint64_t step, std::size_t samples,
              const std::function<void(Time)>& after_pass, const std::function<void()>& passed = {});
  // After `train`: returns when all stages have their gradients.
  void settle();

  // The test score of these samples with the stages' own models or others; the first stage is told.
  Score test(const Dataset& data, std::size_t from, std::size_t to, const Tested& tested = {},
             const LentModel* model = nullptr);

  // Of what each stage has, in the order of stages: the same on all.
  double sum(double mine);

  // Where nodes wait for nobody the first stage leads its replica: the others wait for its words and do as it
  // does. What is read is a copy of what was said.
  void say(const Message& word);
  Message heard();
  // What a stage gives to the first one, in the order of giving.
  void give(Message what);
  Message given(int stage);

  // What the passes have used in all.
  StageReport report() const;
  // Activations and gradients; goes on from what was counted before the run was resumed.
  Traffic sent() const;
  void set_sent(Traffic traffic) { activations_.set_sent(traffic); }

 private:
  Message expect(Channel& channel, int stage);
  Score tell_first(const Score& score);
  void pass(const char* name, const MicroBatch& part, std::size_t samples, double flops,
            const std::function<void()>& work, const std::function<void(Time)>& after_pass);

  Endpoint& all_;
  MessagePool& pool_;
  Stage& stage_;
  const PipelinePlan& plan_;
  const int stage_number_;
  Trace* const trace_;
  const std::unique_ptr<Endpoint> replica_;  // its stages
  const std::unique_ptr<Endpoint> peers_;
  Channel activations_, gradients_, labels_, sums_;     // of training
  Channel tests_, room_, scores_, steering_, settled_;  // of evaluations and orders
  Time computing_{0}, waiting_{0};
};

}  // namespace veche
