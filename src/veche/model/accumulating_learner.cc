#include "veche/model/accumulating_learner.h"

#include <algorithm>
#include <numeric>

namespace veche {
namespace {

constexpr int kPassBits = 40;  // the bits above the number of a step

// What a part counts for in the mean loss.
double weight_of(const Batch& part) {
  if (part.weights.empty()) return static_cast<double>(part.size());
  return std::accumulate(part.weights.begin(), part.weights.end(), 0.0);
}

}  // namespace

Score AccumulatingLearner::compute_gradient(const Batch& batch) {
  const std::size_t size = batch.size();
  if (size <= samples_per_pass_) {
    learner_->on_gradient_ready(listener_);
    return learner_->compute_gradient(batch);
  }
  const std::size_t passes = (size + samples_per_pass_ - 1) / samples_per_pass_;
  const double whole = weight_of(batch);
  Score score;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    // Equal passes rather than a small last one.
    const std::size_t from = size * pass / passes, to = size * (pass + 1) / passes;
    Batch part = batch.part(from, to - from);
    part.step += pass << kPassBits;  // seeds dropout
    const float share = whole == 0 ? 0 : static_cast<float>(weight_of(part) / whole);
    score += pass + 1 < passes ? pass_and_keep(part, share, pass == 0) : last_pass(part, share);
  }
  return score;
}

Score AccumulatingLearner::pass_and_keep(const Batch& part, float share, bool first) {
  learner_->on_gradient_ready({});
  const Score score = learner_->compute_gradient(part);
  const std::span<const float> gradient = gradients();
  if (first) sum_.assign(gradient.size(), 0.0F);
  for (std::size_t i = 0; i < gradient.size(); ++i) sum_[i] += share * gradient[i];
  return score;
}

Score AccumulatingLearner::last_pass(const Batch& part, float share) {
  finished_.clear();
  if (listener_)
    learner_->on_gradient_ready([this, share](std::size_t from, std::size_t to) {
      finish(from, to, share);
      finished_.push_back({from, to});
      listener_(from, to);
    });
  const Score score = learner_->compute_gradient(part);
  learner_->on_gradient_ready({});
  std::ranges::sort(finished_, {}, &Part::from);
  std::size_t at = 0;
  for (const Part& done : finished_) {
    finish(at, done.from, share);
    at = std::max(at, done.to);
  }
  finish(at, gradients().size(), share);
  return score;
}

void AccumulatingLearner::finish(std::size_t from, std::size_t to, float share) {
  const std::span<float> gradient = gradients();
  for (std::size_t i = from; i < to; ++i) gradient[i] = sum_[i] + share * gradient[i];
}

void AccumulatingLearner::rest() {
  std::vector<float>().swap(sum_);
  ForwardingLearner::rest();
}

}  // namespace veche
