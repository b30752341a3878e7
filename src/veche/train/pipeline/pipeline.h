#pragma once

#include <functional>
#include <memory>

#include "veche/channel.h"
#include "veche/dataset.h"
#include "veche/model/stage.h"
#include "veche/report.h"
#include "veche/train/measure/measure.h"
#include "veche/train/measure/trace.h"
#include "veche/train/pipeline/plan.h"

namespace veche {

// A node's stage of its replica: runs the passes of the stage in the order of the schedule and
// sends activations and gradients to the neighbouring stages. All stages of a replica call the same
// functions in the same order. While it waits it holds no compute slot, so any number of stages
// share a few cores. Throws PeerLost, naming the stage, when one is gone. Belongs to the node's
// thread.
class Pipeline {
 public:
  // All outlive it; `trace` may be null.
  Pipeline(Endpoint& all, MessagePool& pool, AdaptiveTimeout& timeout, Stage& stage, const PipelinePlan& plan,
           Trace* trace);

  int stage() const { return stage_number_; }
  int replica() const { return plan_.replica_of(all_.id()); }
  bool first() const { return stage_number_ == 0; }
  bool last() const { return stage_number_ + 1 == plan_.stages; }
  // The node of this replica that has a stage, as people know it.
  NodeId known_as(int stage) const { return replica_->known_as(NodeId{stage}); }
  // The nodes that have this stage, by replica, as a cluster of their own.
  Endpoint& peers() const { return *peers_; }

  // The passes of a step over `samples` samples. Only the first stage needs them in `batch`.
  // Afterwards the stage's gradient is that of the batch's mean loss. Returns the score at the
  // first stage. `after_pass` gets the time of each pass. `passed`, which may be empty, is called
  // when this stage has its gradient, before an earlier stage can have its own.
  Score train(const Batch& batch, std::uint64_t step, std::size_t samples,
              const std::function<void(Time)>& after_pass, const std::function<void()>& passed = {});
  // After `train`: returns when all stages have their gradients.
  void settle();

  // The test score of the samples [from, to), at the first stage, with the stages' own models or
  // others. `classes` may be null; the last stage has the outcomes for it.
  Score test(const Dataset& data, std::size_t from, std::size_t to, const Tested& tested = {},
             const LentModel* model = nullptr, ClassScores* classes = nullptr);

  // The sum over the stages of the replica, in their order: the same bits on all.
  double sum(double mine);

  // In asynchronous runs the first stage leads its replica: it says what to do next, the others
  // hear it.
  void say(const Message& word);
  Message heard();
  // Messages from the other stages to the first one, in order.
  void give(Message what);
  Message given(int stage);

  // The time and memory of all passes.
  StageReport report() const;
  // Traffic of activations and gradients; a resumed run sets what was counted before.
  Traffic sent() const;
  void set_sent(Traffic traffic) { activations_.set_sent(traffic); }

 private:
  Message expect(Channel& channel, int stage);
  // Does `work`, whose message has come from this stage: if it is damaged, the error names the
  // node.
  void blaming(int stage, const std::function<void()>& work) const;
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
  Channel activations_, gradients_, targets_, sums_;    // of training
  Channel tests_, room_, scores_, steering_, settled_;  // of evaluations and orders
  Time computing_{0}, waiting_{0};
};

}  // namespace veche
