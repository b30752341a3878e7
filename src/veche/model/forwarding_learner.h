#pragma once

#include "veche/learner.h"
#include "veche/model/generation.h"

namespace veche {

// A learner that passes every call on to another one: a base for learners that change a single
// call.
class ForwardingLearner : public Learner, public Generator {
 public:
  explicit ForwardingLearner(Learner& inner) : inner_(inner) {}  // which outlives it

  std::span<float> parameters() override { return inner_.parameters(); }
  std::span<float> gradients() override { return inner_.gradients(); }
  std::span<float> buffers() override { return inner_.buffers(); }
  Score compute_gradient(const Batch& batch) override { return inner_.compute_gradient(batch); }
  void on_gradient_ready(GradientListener listener) override {
    inner_.on_gradient_ready(std::move(listener));
  }
  Score evaluate(const Batch& batch) override { return inner_.evaluate(batch); }
  Score evaluate_each(const Batch& batch, std::span<Outcome> outcomes) override {
    return inner_.evaluate_each(batch, outcomes);
  }
  void rest() override { inner_.rest(); }
  std::unique_ptr<Generation> begin_text() override { return veche::begin_text(inner_); }
  std::vector<TensorLayout> parameter_layout() const override { return inner_.parameter_layout(); }
  std::vector<TensorLayout> buffer_layout() const override { return inner_.buffer_layout(); }

 private:
  Learner& inner_;
};

}  // namespace veche
