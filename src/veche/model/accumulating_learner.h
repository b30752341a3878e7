#pragma once

#include <memory>
#include <vector>

#include "veche/model/forwarding_learner.h"

namespace veche {

// A learner that computes the gradient of a batch in passes of at most a number of samples, so that
// a batch needs the memory of one pass: gradient accumulation. The result is that of the whole
// batch to rounding, except for layers that look at their batch: batch norm sees one pass at a
// time.
class AccumulatingLearner : public ForwardingLearner {
 public:
  AccumulatingLearner(std::unique_ptr<Learner> inner, std::size_t samples_per_pass)
      : ForwardingLearner(*inner), learner_(std::move(inner)), samples_per_pass_(samples_per_pass) {}

  Score compute_gradient(const Batch& batch) override;
  // Parts are reported in the last pass, when they are final.
  void on_gradient_ready(GradientListener listener) override { listener_ = std::move(listener); }
  void rest() override;

 private:
  struct Part {
    std::size_t from, to;
  };
  Score pass_and_keep(const Batch& part, float share, bool first);
  Score last_pass(const Batch& part, float share);
  void finish(std::size_t from, std::size_t to, float share);

  const std::unique_ptr<Learner> learner_;
  const std::size_t samples_per_pass_;
  GradientListener listener_;
  std::vector<float> sum_;  // of the passes before the last one
  std::vector<Part> finished_;
};

}  // namespace veche
