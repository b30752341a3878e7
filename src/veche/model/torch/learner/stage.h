#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "veche/model/stage.h"
#include "veche/model/torch/layers/conv_plan.h"
#include "veche/model/torch/layers/gradient_report.h"
#include "veche/model/torch/layers/network.h"
#include "veche/model/torch/layers/plain_gradients.h"
#include "veche/model/torch/learner/flat.h"
#include "veche/model/torch/learner/task_loss.h"
#include "veche/model/torch/library/allocator.h"
#include "veche/model/torch/library/device.h"

namespace veche::torch_model {

// A range of a network's links behind the Stage interface. Tensors of other links have no memory.
class TorchStage : public Stage {
 public:
  // The network must be a chain with at least stage.to links. `like`: as for TorchLearner, with the
  // same links.
  TorchStage(std::shared_ptr<Network> network, const ModelSpec& spec, const StageSpec& stage,
             std::shared_ptr<ConvPlans> plans, Learner* like = nullptr);

  bool first() const override { return stage_.from == 0; }
  bool last() const override { return static_cast<std::size_t>(stage_.to) == network_->links().size(); }
  Message forward(const MicroBatch& part, const StageInput& input, MessagePool& pool) override;
  Message backward(const MicroBatch& part, const Message& gradient, MessagePool& pool) override;
  Score take_score() override { return std::exchange(score_, {}); }
  Message test(const StageInput& input, MessagePool& pool, Score& score,
               std::span<Outcome> outcomes) override;
  std::size_t most_bytes_held() const override { return memory_.most(); }

  std::span<float> parameters() override { return flat_.parameters(); }
  std::span<float> gradients() override { return flat_.gradients(); }
  std::span<float> buffers() override { return flat_.buffers(); }
  // Only for a stage that is the whole network; otherwise the pipeline drives the passes.
  Score compute_gradient(const Batch& batch) override;
  Score evaluate(const Batch& batch) override;
  void on_gradient_ready(GradientListener listener) override {
    if (!computes_.on_copies) report_.listen(std::move(listener));
  }
  std::vector<TensorLayout> parameter_layout() const override { return flat_.parameter_layout(); }
  std::vector<TensorLayout> buffer_layout() const override { return flat_.buffer_layout(); }

 private:
  // State kept between the forward and backward pass of a micro-batch.
  struct SavedPass {
    at::Tensor input;           // requires a gradient, except at the first stage
    TaskLoss::Targets targets;  // at the last stage
    at::Tensor output;          // the micro-batch's share of the loss at the last stage; empty if recomputed
    std::shared_ptr<void> charge;  // accounts for the memory of the message behind `input`
  };
  // Parameters do not change between the first and the last pass of a step.
  void fix_parameters(bool rest);
  at::Tensor run(const MicroBatch& part, SavedPass& saved, Score* score) const;
  // Runs the links; make_pass(i) gives the pass of link i.
  at::Tensor through(const at::Tensor& input, const std::function<Pass(int)>& make_pass) const;
  SavedPass take_in(const StageInput& input) const;

  const std::shared_ptr<Network> network_;
  const std::shared_ptr<ConvPlans> plans_;
  const StageSpec stage_;
  const Shape input_;
  const TaskLoss loss_;
  const std::uint64_t seed_;
  const NodeId node_;
  const int threads_;
  const Computes computes_;
  Flat flat_;
  GradientReport report_;
  std::optional<PlainGradients> plain_;
  std::vector<Conv*> convs_;
  MemoryAccount& memory_ = MemoryAccount::open();
  std::map<int, SavedPass> saved_;  // by micro-batch
  int back_ = 0;                    // micro-batches of the step that have completed the backward pass
  Score score_;
};

// Describes each link of the network. Throws RequestError if it is not a chain.
std::vector<BlockDescription> describe_links(Network& network, const ModelSpec& spec);

}  // namespace veche::torch_model
