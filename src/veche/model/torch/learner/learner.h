#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "veche/model/generation.h"
#include "veche/model/predictor.h"
#include "veche/model/torch/layers/conv_plan.h"
#include "veche/model/torch/layers/gradient_report.h"
#include "veche/model/torch/layers/network.h"
#include "veche/model/torch/layers/plain_gradients.h"
#include "veche/model/torch/learner/flat.h"
#include "veche/model/torch/learner/task_loss.h"
#include "veche/model/torch/library/device.h"

namespace veche::torch_model {

class ConvPlans;

// A network behind the flat interface. Computes on the calling thread, with additional threads if
// configured, or on a device: parameters are then copied there before every pass and gradients back
// after it. Its parameters may belong to Layers, which write and report their gradients themselves,
// or to other modules, which use autograd. On a device all use autograd.
class TorchLearner : public Learner, public Predictor, public Generator {
 public:
  // `plans` are shared with other learners. `like`, if not null, supplies the initial values.
  TorchLearner(std::shared_ptr<Network> network, const ModelSpec& spec, std::shared_ptr<ConvPlans> plans,
               Learner* like = nullptr);

  std::span<float> parameters() override { return flat_.parameters(); }
  std::span<float> gradients() override { return flat_.gradients(); }
  std::span<float> buffers() override { return flat_.buffers(); }
  Score compute_gradient(const Batch& batch) override;
  // On a device nothing is final before it is copied back, so there is no early report.
  void on_gradient_ready(GradientListener listener) override {
    if (!computes_.on_copies) report_.listen(std::move(listener));
  }
  Score evaluate(const Batch& batch) override { return evaluate_each(batch, {}); }
  Score evaluate_each(const Batch& batch, std::span<Outcome> outcomes) override;
  int classes() const override { return classes_; }
  void predict(std::span<const float> images, std::span<float> probabilities) override;
  std::unique_ptr<Generation> begin_text() override;
  void rest() override;
  std::vector<TensorLayout> parameter_layout() const override { return flat_.parameter_layout(); }
  std::vector<TensorLayout> buffer_layout() const override { return flat_.buffer_layout(); }

 private:
  // Computes the logits of a batch in chunks, on up to evaluation_threads_ threads; `use` is called
  // on the chunk's thread.
  Score in_chunks(
      const Batch& batch,
      const std::function<Score(const Batch& some, const at::Tensor& logits, std::size_t from)>& use);

  const std::shared_ptr<Network> network_;
  const std::shared_ptr<ConvPlans> plans_;
  const Shape input_;
  const int classes_;
  const Task task_;
  const TaskLoss loss_;
  const std::uint64_t seed_;
  const NodeId node_;
  const int threads_;             // for gradients
  const int evaluation_threads_;  // for evaluation
  const Computes computes_;
  Flat flat_;
  GradientReport report_;
  bool rested_ = false;                  // since the last pass
  std::optional<PlainGradients> plain_;  // set once the parameters have their final address
};

}  // namespace veche::torch_model
