#pragma once

#include "veche/train/loop/model_state.h"
#include "veche/train/pipeline/pipeline.h"

namespace veche {

// Bounds the norm of the gradient of the whole model (optimizer.clip). Stages of a replica add up
// their squares, so they all call `scale` for the same steps.
class GradientClip {
 public:
  // A limit of 0 bounds nothing. `pipeline` may be null. Both outlive it.
  GradientClip(double limit, ModelState& model, Pipeline* pipeline)
      : limit_(limit), model_(model), pipeline_(pipeline) {}

  // The factor that brings the gradient's norm to at most the limit.
  double scale();
  // Prunes the gradient and multiplies it by `scale`: for strategies that send it away.
  void apply();

  // The last factor; 0: the stages have not added up their squares since `reset`.
  double last() const { return last_; }
  void reset() { last_ = 0; }

 private:
  const double limit_;
  ModelState& model_;
  Pipeline* const pipeline_;
  double last_ = 0;
};

}  // namespace veche
