#include "veche/train/late_evaluation.h"

#include <algorithm>
#include <cstring>

#include "veche/base/vector_math.h"
#include "veche/train/loop.h"
#include "veche/train/measure.h"

namespace veche {
namespace {

constexpr std::size_t kPiece = 100;  // samples

}  // namespace

Message LateEvaluation::snapshot(MessagePool& pool, Learner& learner, const NodeReport& report) {
  const std::span<const float> parameters = learner.parameters();
  const std::span<const float> buffers = learner.buffers();
  Message message = pool.make(parameters.size_bytes() + buffers.size_bytes() + sizeof report);
  const auto end = std::ranges::copy(parameters, message.writable<float>().begin()).out;
  std::ranges::copy(buffers, end);
  std::memcpy(message.writable<std::byte>().last(sizeof report).data(), &report, sizeof report);
  return message;
}

LateEvaluation::LateEvaluation(std::vector<Message> snapshots, std::uint64_t step, std::size_t parameters,
                               std::size_t idle, Learner* learner, const Dataset* test, Slots& slots,
                               const LoopPlan& plan)
    : snapshots_(std::move(snapshots)),
      parameters_(parameters),
      idle_(idle),
      learner_(learner),
      test_(test),
      slots_(slots) {
  result_.step = step;
  const std::size_t trainers = snapshots_.size() - idle_;
  std::vector<std::span<const float>> inputs;
  for (std::size_t node = idle_; node < snapshots_.size(); ++node) inputs.push_back(vectors(node));
  mean_.resize(inputs.front().size());
  weighted_sum(mean_, inputs, std::vector<float>(trainers, 1.0F / static_cast<float>(trainers)));
  const std::span<const float> mean = std::span(mean_).first(parameters_);
  for (std::size_t node = 0; node < snapshots_.size(); ++node) {
    NodeReport report;
    std::memcpy(&report, snapshots_[node].bytes().last(sizeof report).data(), sizeof report);
    report.from_mean = distance(vectors(node).first(parameters_), mean);
    result_.nodes.push_back(report);
    if (node >= idle_ && plan.tests_model_of(node, snapshots_.size(), step)) own_.push_back(node);
  }
  sum_up(result_, squared_norm(mean), idle_);
  if (test_ != nullptr) put_into_learner(mean_);
}

std::span<const float> LateEvaluation::vectors(std::size_t node) const {
  return snapshots_[node].as<float>().first((snapshots_[node].size() - sizeof(NodeReport)) / sizeof(float));
}

void LateEvaluation::put_into_learner(std::span<const float> model) {
  std::ranges::copy(model.first(parameters_), learner_->parameters().begin());
  std::ranges::copy(model.subspan(parameters_), learner_->buffers().begin());
}

bool LateEvaluation::advance() {
  if (test_ == nullptr) return true;
  {
    const Batch batch = read_batch(*test_, at_, std::min(kPiece, test_->size() - at_), storage_);
    const Slots::Turn turn(slots_, 0);
    score_ += learner_->evaluate(batch);
  }
  at_ += kPiece;
  return at_ >= test_->size() && !next_model();
}

bool LateEvaluation::next_model() {
  (model_ == 0 ? result_.average_model : result_.nodes[own_[model_ - 1]].test) = score_;
  score_ = {};
  at_ = 0;
  if (model_ == own_.size()) return false;
  put_into_learner(vectors(own_[model_++]));
  return true;
}

}  // namespace veche
