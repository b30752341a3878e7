#include "veche/train/views/state_donor.h"

#include <algorithm>

#include "veche/train/views/state_server.h"

namespace veche {

Shared shared_by(const StrategyInfo& strategy, const Options& options) {
  if (strategy.pace(options) != Pace::in_step) return Shared::nothing;
  if (strategy.common_state(options)) return Shared::common;
  const Replicas replicas = strategy.replicas(options);
  return replicas == Replicas::equal || replicas == Replicas::served ? Shared::models : Shared::nothing;
}

bool StateDonor::due(std::uint64_t step, Time now) {
  if (asked_.exchange(false) || now < last_asked_) last_asked_ = now;  // another view may have another clock
  const MutexLock lock(mutex_);
  if (now > last_step_ && step == step_ + 1) seconds_ += ((now - last_step_).count() - seconds_) / 8;
  last_step_ = now;
  step_ = step;
  trains_ = true;
  if (copy_ && now - last_asked_ > kForgets) forget_all();
  return wanted_ != StepReply::kNone && step >= wanted_;
}

void StateDonor::take(MemberState& self) {
  auto copy = std::make_shared<Copy>();
  copy->name = wanted_;
  copy->step = self.step;
  const StatePieces pieces(self);
  for (const std::span<float> vector : pieces.vectors())
    copy->vectors.emplace_back(vector.begin(), vector.end());
  const MutexLock lock(mutex_);
  forget_all();
  copy_ = std::move(copy);
  copied_ = last_step_;
  follows_ = true;
}

void StateDonor::made(std::uint64_t step, std::span<const float> gradient, double rate, double scale) {
  auto one = std::make_shared<StepUpdate>();
  one->step = step;
  one->rate = rate;
  one->scale = scale;
  one->bytes = coded_gradient(gradient);
  keep(std::move(one));
}

void StateDonor::made(MemberState& self, bool changed) {
  auto one = std::make_shared<StepUpdate>();
  one->by = changed ? StepUpdate::By::result : StepUpdate::By::nothing;
  one->step = self.step;
  for (const std::span<const float> vector : shared_vectors(self))
    if (changed)
      one->bytes.insert(one->bytes.end(), std::as_bytes(vector).begin(), std::as_bytes(vector).end());
  keep(std::move(one));
}

void StateDonor::keep(std::shared_ptr<const StepUpdate> one) {
  const MutexLock lock(mutex_);
  const bool goes_on = copy_ && one->step == (steps_.empty() ? copy_->step : steps_.back()->step + 1);
  kept_ += one->bytes.size();
  if (!goes_on || kept_ > kMostKept) return forget_all();
  steps_.push_back(std::move(one));
}

void StateDonor::clear() {
  const MutexLock lock(mutex_);
  forget_all();
}

void StateDonor::end(MemberState& self, Message word, bool whole) {
  wanted_ = self.step;
  if (whole) take(self);
  wanted_ = StepReply::kNone;
  follows_ = false;
  const MutexLock lock(mutex_);
  step_ = self.step;
  trains_ = whole;
  end_ = std::move(word);
}

void StateDonor::forget_all() {
  follows_ = false;
  wanted_ = StepReply::kNone;
  copy_.reset();
  steps_.clear();
  kept_ = 0;
}

bool StateDonor::good_enough() const {
  if (!copy_) return false;
  const Time age = last_step_ - copied_;
  return copy_->step + steps_.size() == step_ || (age >= Time(0) && age < kFresh);
}

StateDonor::StepKept StateDonor::step_made(std::uint64_t step) const {
  const MutexLock lock(mutex_);
  if (steps_.empty() || step < steps_.front()->step || step > steps_.back()->step)
    return {copy_ && step >= step_ ? StateReply::Outcome::not_yet : StateReply::Outcome::never, nullptr};
  const auto from = steps_.begin() + static_cast<std::ptrdiff_t>(step - steps_.front()->step);
  if ((*from)->by != StepUpdate::By::nothing) return {StateReply::Outcome::here, *from};
  const auto changes = std::ranges::find_if(
      from, steps_.end(), [](const auto& each) { return each->by != StepUpdate::By::nothing; });
  auto row = std::make_shared<StepUpdate>(**from);
  row->steps = (changes == steps_.end() ? steps_.back()->step + 1 : (*changes)->step) - step;
  return {StateReply::Outcome::here, std::move(row)};
}

StateReply StateDonor::answer(const StateRequest& request) {
  using What = StateRequest::What;
  asked_ = true;
  MutexLock lock(mutex_);
  switch (request.what) {
    case What::step:
      if (!trains_) return {};
      return StateReply::of(StepReply{step_, good_enough() ? copy_->name : StepReply::kNone, seconds_});
    case What::end:
      return end_ ? StateReply::in(*end_, 0) : StateReply{.outcome = StateReply::Outcome::not_yet};
    case What::copy:
      if ((!copy_ || copy_->name != request.of) && wanted_ != request.of) {
        if (end_ || request.of <= step_ || wanted_ != StepReply::kNone) return {};
        wanted_ = request.of;
      }
      return StateReply::of(request.of);
    default:
      break;
  }
  const std::shared_ptr<const Copy> copy = copy_;
  const bool of_copy = request.what == What::manifest || request.what == What::piece;
  if (of_copy && (!copy || copy->name != request.of) && wanted_ == request.of)
    return {.outcome = StateReply::Outcome::not_yet};
  if (!copy) return {};
  lock.unlock();  // the node must not wait for hashing
  const StateCut cut(copy->vectors);
  StateReply reply = StateServer(cut, copy->name, copy->step, this).answer(request);
  if (request.what == What::piece) reply.owner = copy;
  return reply;
}

std::optional<Message> StateDonor::answer(const std::string& name, std::uint64_t offset,
                                          std::uint32_t length) {
  const auto request = request_named(name, offset);
  if (!request || (request->what == StateRequest::What::gradient && length < StateRequest::kPartBytes))
    return {};
  const StateReply reply = answer(*request);
  if (reply.outcome == StateReply::Outcome::never) return {};
  return pool_.copy_of(reply.content);
}

}  // namespace veche
