#include "veche/model/torch/learner/task_loss.h"

#include "veche/errors.h"

namespace veche::torch_model {
namespace {

constexpr std::int64_t kNoLabelIgnored = -100;  // labels were checked and are not negative

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, std::int64_t reduction,
                         double smoothing) {
  return at::cross_entropy_loss(logits, labels, {}, reduction, kNoLabelIgnored, smoothing);
}

// Tokens [from, from + length) of every window.
at::Tensor part_of_windows(const Batch& batch, std::int64_t length, std::int64_t from) {
  const auto windows = static_cast<std::int64_t>(batch.tokens.size()) / (length + 1);
  return at::from_blob(const_cast<std::int32_t*>(batch.tokens.data()) + from, {windows, length},
                       {length + 1, 1}, at::kInt);
}

}  // namespace

TaskLoss::TaskLoss(const ModelSpec& spec)
    : task_(spec.task),
      input_(spec.input),
      classes_(spec.classes),
      label_smoothing_(spec.settings.label_smoothing.value_or(0.0)),
      target_mean_(spec.target_mean),
      target_deviation_(spec.target_deviation) {}

at::Tensor TaskLoss::inputs(const Batch& batch) const {
  if (task_ == Task::language)
    return part_of_windows(batch, static_cast<std::int64_t>(input_.size()), 0).to(at::kLong);
  const auto n = static_cast<std::int64_t>(batch.inputs.size() / input_.size());
  const std::int64_t c = input_.channels, h = input_.height, w = input_.width;
  return at::from_blob(const_cast<float*>(batch.inputs.data()), {n, c, h, w}, {h * w * c, 1, w * c, c},
                       at::kFloat);
}

TaskLoss::Targets TaskLoss::targets(const Batch& batch) const {
  Targets targets;
  if (task_ == Task::language)
    targets.labels =
        part_of_windows(batch, static_cast<std::int64_t>(input_.size()), 1).to(at::kLong).flatten();
  else if (task_ == Task::regression)
    targets.labels = (at::from_blob(const_cast<float*>(batch.values.data()),
                                    {static_cast<std::int64_t>(batch.values.size())}, at::kFloat) -
                      target_mean_) /
                     target_deviation_;
  else
    targets.labels = at::from_blob(const_cast<std::int64_t*>(batch.labels.data()),
                                   {static_cast<std::int64_t>(batch.labels.size())}, at::kLong);
  targets.weight = static_cast<double>(targets.labels.numel());
  if (!batch.weights.empty()) {
    targets.weights =
        at::from_blob(const_cast<float*>(batch.weights.data()), {targets.labels.numel()}, at::kFloat);
    targets.weight = targets.weights.sum(at::kDouble).item<double>();
  }
  return targets;
}

void TaskLoss::check_inputs(const Batch& batch) const {
  const bool fits =
      task_ == Task::language
          ? !batch.tokens.empty() && batch.tokens.size() % (input_.size() + 1) == 0
          : batch.shape == input_ && batch.inputs.size() == batch.size() * input_.size() && batch.size() > 0;
  if (!fits) throw RequestError("a batch does not have the shape the model was made for");
}

void TaskLoss::check_targets(const Batch& batch) const {
  const auto check = [&](std::int64_t label, const char* what) {
    if (label < 0 || label >= classes_)
      throw RequestError(std::string("the data hold the ") + what + " " + std::to_string(label) +
                         ", but model.classes is " + std::to_string(classes_));
  };
  for (const std::int64_t label : batch.labels) check(label, "label");
  for (const std::int32_t token : batch.tokens) check(token, "token");
  const std::size_t targets = task_ == Task::language
                                  ? batch.tokens.size() / (input_.size() + 1) * input_.size()
                                  : (task_ == Task::regression ? batch.values.size() : batch.labels.size());
  if (!batch.weights.empty() && batch.weights.size() != targets)
    throw RequestError("a batch has " + std::to_string(batch.weights.size()) + " weights for " +
                       std::to_string(targets) + " targets");
}

at::Tensor TaskLoss::flat(const at::Tensor& outputs) const {
  return task_ == Task::language ? outputs.flatten(0, -2) : outputs;
}

at::Tensor TaskLoss::sum(const at::Tensor& outputs, const Targets& targets, bool training) const {
  if (task_ == Task::regression) {
    const at::Tensor squares = (outputs.squeeze(1) - targets.labels).square();
    return targets.weights.defined() ? (squares * targets.weights).sum() : squares.sum();
  }
  const double smoothing = training ? label_smoothing_ : 0;
  if (!targets.weights.defined())
    return cross_entropy(flat(outputs), targets.labels, at::Reduction::Sum, smoothing);
  const at::Tensor each = cross_entropy(flat(outputs), targets.labels, at::Reduction::None, smoothing);
  return (each * targets.weights).sum();
}

at::Tensor TaskLoss::mean(const at::Tensor& outputs, const Targets& targets, bool training) const {
  if (!targets.weights.defined() && task_ != Task::regression)
    return cross_entropy(flat(outputs), targets.labels, at::Reduction::Mean, training ? label_smoothing_ : 0);
  // A batch without any weight has no loss, and no gradient.
  return sum(outputs, targets, training) / (targets.weight > 0 ? targets.weight : 1);
}

Score TaskLoss::score(const at::Tensor& outputs, const Targets& targets, const at::Tensor& loss) const {
  at::NoGradGuard guard;
  if (task_ == Task::regression) {
    Score score;
    add_errors(outputs, targets, score);
    score.loss_sum = loss.item<double>() * static_cast<double>(score.count);
    return score;
  }
  at::Tensor right = flat(outputs).argmax(1).eq(targets.labels);
  std::int64_t count = targets.labels.numel();
  if (targets.weights.defined()) {
    const at::Tensor counted = targets.weights.gt(0);
    right = right.logical_and(counted);
    count = counted.sum().item<std::int64_t>();
  }
  return {.loss_sum = loss.item<double>() * static_cast<double>(count),
          .correct = right.sum().item<std::int64_t>(),
          .count = count};
}

void TaskLoss::add_errors(const at::Tensor& outputs, const Targets& targets, Score& score) const {
  at::Tensor truth = targets.labels.to(at::kDouble) * target_deviation_ + target_mean_;
  at::Tensor errors = answers(outputs).squeeze(1).to(at::kDouble) - truth;
  if (targets.weights.defined()) {
    const at::Tensor counted = targets.weights.gt(0);
    truth = truth.masked_select(counted);
    errors = errors.masked_select(counted);
  }
  score.count += truth.numel();
  score.error_sum += errors.abs().sum().item<double>();
  score.squared_error_sum += errors.square().sum().item<double>();
  score.target_sum += truth.sum().item<double>();
  score.squared_target_sum += truth.square().sum().item<double>();
}

at::Tensor TaskLoss::answers(const at::Tensor& outputs) const {
  if (task_ == Task::regression) return outputs * target_deviation_ + target_mean_;
  return at::softmax(outputs, 1);
}

}  // namespace veche::torch_model
