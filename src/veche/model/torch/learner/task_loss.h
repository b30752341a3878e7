#pragma once

#include "veche/batch.h"
#include "veche/model/torch/headers.h"
#include "veche/model_spec.h"

namespace veche::torch_model {

// What a task makes of a batch and of a network's outputs: the tensors that go in, the targets, the
// loss and the score. Shared by learners and stages.
class TaskLoss {
 public:
  explicit TaskLoss(const ModelSpec& spec);

  struct Targets {
    at::Tensor labels;   // a class, a token or a standardised number per row of the outputs
    at::Tensor weights;  // of every row; undefined: all weigh 1
    double weight = 0;   // the sum of the weights

    Targets on(const at::Device& device) const {
      return {labels.to(device), weights.defined() ? weights.to(device) : weights, weight};
    }
  };

  // Images (N, C, H, W, channels-last) or tokens (N, length), in the batch's own memory.
  at::Tensor inputs(const Batch& batch) const;
  Targets targets(const Batch& batch) const;

  // Throws RequestError if a batch does not fit the model: its samples, its targets.
  void check_inputs(const Batch& batch) const;
  void check_targets(const Batch& batch) const;

  // The weighted sum of the targets' losses; in training with label smoothing.
  at::Tensor sum(const at::Tensor& outputs, const Targets& targets, bool training) const;
  at::Tensor mean(const at::Tensor& outputs, const Targets& targets, bool training) const;
  // `loss` is the mean. Targets of weight 0 do not count.
  Score score(const at::Tensor& outputs, const Targets& targets, const at::Tensor& loss) const;

  // Probabilities of classes; of a regression, numbers in the units of the targets.
  at::Tensor answers(const at::Tensor& outputs) const;

  // The number of outputs that have a target each.
  std::int64_t rows(const at::Tensor& outputs) const { return flat(outputs).size(0); }
  // Targets of one sample.
  std::size_t targets_per_sample() const { return task_ == Task::language ? input_.size() : 1; }

 private:
  at::Tensor flat(const at::Tensor& outputs) const;
  void add_errors(const at::Tensor& outputs, const Targets& targets, Score& score) const;

  const Task task_;
  const Shape input_;
  const int classes_;
  const double label_smoothing_;
  const double target_mean_, target_deviation_;
};

}  // namespace veche::torch_model
