#include "veche/train/async/snapshot_evaluation.h"

#include <algorithm>

#include "veche/train/measure/measure.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr std::size_t kPiece = 100;  // samples

}  // namespace

SnapshotEvaluation::SnapshotEvaluation(std::vector<Snapshot> snapshots, std::uint64_t step,
                                       std::size_t parameters, Learner* learner, Endpoint& endpoint,
                                       const TrainingPlan& plan)
    : snapshots_(std::move(snapshots)),
      parameters_(parameters),
      learner_(learner),
      endpoint_(endpoint),
      plan_(plan),
      test_(plan.data.test.get()) {
  result_.step = step;
  result_.average_model = plan.untested();
  if (test_ != nullptr) classes_.emplace(*test_);
  mean_.resize(snapshots_.front().numbers().size());
  ModelAverage average(mean_);
  for (std::size_t node = plan.idle(); node < snapshots_.size(); ++node)
    average.add(snapshots_[node].numbers());
  average.finish();
  const std::span<const float> mean = std::span(mean_).first(parameters_);
  for (std::size_t node = 0; node < snapshots_.size(); ++node) {
    NodeReport report = snapshots_[node].report;
    report.from_mean = distance(snapshots_[node].numbers().first(parameters_), mean);
    result_.nodes.push_back(report);
    if (node >= plan.idle() && plan.tests_model_of(node, snapshots_.size(), step)) own_.push_back(node);
  }
  sum_up(result_, squared_norm(mean), plan.idle());
  if (test_ != nullptr) put_into_learner(mean_);
}

void SnapshotEvaluation::put_into_learner(std::span<const float> model) {
  std::ranges::copy(model.first(parameters_), learner_->parameters().begin());
  std::ranges::copy(model.subspan(parameters_), learner_->buffers().begin());
}

bool SnapshotEvaluation::advance() {
  if (test_ == nullptr) return true;
  const Batch batch = read_batch(*test_, at_, std::min(kPiece, test_->size() - at_), storage_);
  endpoint_.compute({.step = 0},
                    [&] { score_ += evaluate_batch(*learner_, batch, model_ == 0 ? &*classes_ : nullptr); });
  at_ += kPiece;
  return at_ >= test_->size() && !next_model();
}

bool SnapshotEvaluation::next_model() {
  if (model_ == 0) {
    result_.average_model = result_of(*test_, score_, std::move(*classes_));
    write_sample();
  } else {
    result_.nodes[own_[model_ - 1]].test = score_;
  }
  score_ = {};
  at_ = 0;
  if (model_ == own_.size()) return false;
  put_into_learner(snapshots_[own_[model_++]].numbers());
  return true;
}

// The learner has the mean.
void SnapshotEvaluation::write_sample() {
  if (!plan_.write_sample) return;
  endpoint_.compute({.step = result_.step}, [&] { result_.sample = plan_.write_sample(*learner_); });
}

}  // namespace veche
