#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "veche/model/predictor.h"
#include "veche/model/torch/layers/conv_plan.h"
#include "veche/model/torch/layers/gradient_report.h"
#include "veche/model/torch/layers/network.h"
#include "veche/model/torch/layers/plain_gradients.h"
#include "veche/model/torch/learner/flat.h"
#include "veche/model/torch/library/device.h"

namespace veche::torch_model {

class ConvPlans;

// A network behind the flat interface. Computes in the calling thread, with as many others as it is told, or
// on a device to which it copies the parameters before every pass and from which it copies the gradients
// afterwards. Its parameters may belong to Layers, which write and report their gradients themselves, or to
// any other module: libtorch's autograd sees to those, and to all of them on a device.
class TorchLearner : public Learner, public Predictor {
 public:
  // `plans` are shared with other learners. `like`, if there is one, has the initial values: they are copied.
  TorchLearner(std::shared_ptr<Network> network, const ModelSpec& spec, std::shared_ptr<ConvPlans> plans,
               Learner* like = nullptr);

  std::span<float> parameters() override { return flat_.parameters(); }
  std::span<float> gradients() override { return flat_.gradients(); }
  std::span<float> buffers() override { return flat_.buffers(); }
  Score compute_gradient(const Batch& batch) override;
  // Away from the vectors nothing is final before it has been fetched.
  void on_gradient_ready(GradientListener listener) override {
    if (!computes_.away) report_.listen(std::move(listener));
  }
  Score evaluate(const Batch& batch) override;
  int classes() const override { return classes_; }
  void predict(std::span<const float> images, std::span<float> probabilities) override;
  void rest() override;
  std::vector<TensorLayout> parameter_layout() const override { return flat_.parameter_layout(); }
  std::vector<TensorLayout> buffer_layout() const override { return flat_.buffer_layout(); }

 private:
  void check(const Batch& batch) const;
  // Logits of the batch in pieces, by as many threads as may test, each handed to `use` in its thread.
  Score in_pieces(
      const Batch& batch,
      const std::function<Score(const Batch& some, const at::Tensor& logits, std::size_t from)>& use);

  const std::shared_ptr<Network> network_;
  const std::shared_ptr<ConvPlans> plans_;
  const Shape input_;
  const int classes_;
  const double label_smoothing_;  // in training only
  const std::uint64_t seed_;
  const NodeId node_;
  const int threads_;             // to compute a gradient
  const int evaluation_threads_;  // to test
  const Computes computes_;
  Flat flat_;
  GradientReport report_;
  bool rested_ = false;                  // since the last pass
  std::optional<PlainGradients> plain_;  // once the parameters are where they stay
};

}  // namespace veche::torch_model
