#include "veche/train/strategies/local_sgd/control_variates.h"

#include <algorithm>

#include "veche/collectives.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr std::size_t kKnown = 1;

}  // namespace

ControlVariates::ControlVariates(StrategyContext& context, Coder& coder)
    : context_(context),
      common_(context.learner.parameters().size()),
      own_(common_.size()),
      sum_(common_.size()) {
  if (coder.on()) coded_.emplace(coder, context.channel, coder.whole(false), AllReduceAlgorithm::ring);
}

void ControlVariates::correct(std::span<float> gradient, bool averages) {
  if (steps_[kKnown] == 0) own_ = common_;
  steps_[kKnown] = 1;
  const float steps = steps_.front() + 1;
  if (averages) {
    fresh_.resize(sum_.size());
    for (std::size_t i = 0; i < sum_.size(); ++i) fresh_[i] = (sum_[i] + gradient[i]) / steps;
    has_fresh_ = true;
  } else {
    add(sum_, gradient);
    steps_.front() = steps;
  }
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += common_[i] - own_[i];
}

void ControlVariates::exchange(float share, bool coded) {
  // No samples in the last step.
  if (!has_fresh_) {
    fresh_ = own_;
    if (steps_.front() > 0)
      for (std::size_t i = 0; i < sum_.size(); ++i) fresh_[i] = sum_[i] / steps_.front();
  }
  mean_ = fresh_;
  if (coded)
    for (std::size_t i = 0; i < mean_.size(); ++i) mean_[i] -= common_[i];
  scale(mean_, share);
  if (!coded) return all_reduce(context_.channel, mean_);
  coded_->sum(mean_);
  add(mean_, common_);
}

void ControlVariates::commit() {
  common_.swap(mean_);
  own_.swap(fresh_);
  std::ranges::fill(sum_, 0.0F);
  steps_.front() = 0;
  has_fresh_ = false;
}

void ControlVariates::add_state(SavedState& state) {
  state.vectors.emplace_back(common_);
  for (const std::span<float> each : own()) state.vectors.push_back(each);
  if (coded_) coded_->add_state(state);
}

}  // namespace veche
