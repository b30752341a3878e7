#include "veche/train/views/recoverable_step.h"

#include <algorithm>

#include "veche/comm/views.h"
#include "veche/train/views/partial_step.h"
#include "veche/train/views/state_donor.h"

namespace veche {

bool keep_common(MemberState& self, const AttachedStrategy& strategy, const TrainingPlan& plan) {
  const bool has_common = plan.common_state();
  if (!has_common && !strategy.divides_state()) return false;
  const DividedState::Parts parts = strategy.divided_state();
  self.own.resize(parts.own.size());
  for (std::size_t i = 0; i < parts.own.size(); ++i)
    self.own[i].assign(parts.own[i].begin(), parts.own[i].end());
  if (!has_common) return false;
  bool changed = false;
  const std::vector<std::span<float>>& now = parts.common;
  self.common.resize(now.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::span<const float> before = self.common[i];
    if (std::ranges::equal(std::as_bytes(now[i]), std::as_bytes(before))) continue;
    self.common[i].assign(now[i].begin(), now[i].end());
    changed = true;
  }
  return changed;
}

void MemberStep::begin() {
  TrainingStep::begin();
  lend();
}

void MemberStep::make() {
  TrainingStep::make();
  lend();
}

// Between two steps: a newcomer may have asked for a copy.
void MemberStep::lend() {
  if (!self_.donor || !self_.donor->due(self_.step, now())) return;
  keep_common(self_, node_.strategy, node_.plan);
  node_.strategy.inspect([this] { self_.donor->take(self_); });
}

bool MemberStep::is_followed() const { return self_.donor && self_.donor->follows(); }

TrainingStep::Update MemberStep::run_optimizer() {
  const Update made = TrainingStep::run_optimizer();
  if (is_followed() && node_.plan.replicas() == Replicas::equal)
    self_.donor->made(self_.step, gradients(), made.rate, made.scale);
  return made;
}

Score MemberStep::train_stage(const Turn& turn, const std::function<void(Time)>& after_pass) {
  Pipeline& pipeline = *node_.links.pipeline();
  const Score score =
      pipeline.train(turn.batch, self_.step, turn.samples, after_pass, [this] { stage_passed(); });
  // The node may go on to be the only one that completes this step. The other stages of its replica
  // must then be able to complete theirs.
  pipeline.settle();
  return score;
}

void MemberStep::sleep(Time length) {
  try {
    TrainingStep::sleep(length);
  } catch (const ViewChanged&) {
    // The next wait throws it again. The gradient that was computed before this pause is not lost.
  }
}

void RecoverableStep::make() {
  note_for_next_view();
  MemberStep::make();
}

// A view of a model in stages may end when some stages have made the step and others have not.
void RecoverableStep::note_for_next_view() {
  clip_.reset();
  note_step(self_, node_.plan, node_.links.replica());
  ServesPart* server = node_.links.pipeline() != nullptr ? node_.strategy.serves_part() : nullptr;
  if (server == nullptr) return;
  const ServesPart::Part part = server->served_part();
  self_.work.moments_from = part.from;
  for (const std::span<const float> each : part.moments)
    self_.work.moments.emplace_back(each.begin(), each.end());
}

bool RecoverableStep::next_gradient() {
  // The outside loop waits for the end of the step whose gradient was kept in an earlier view.
  return self_.work.there ? self_.work.has_samples : MemberStep::next_gradient();
}

bool RecoverableStep::compute_gradient(const Turn& turn) {
  if (self_.work.there) {  // computed for this step in an earlier view
    std::ranges::copy(self_.work.gradient, gradients().begin());
    return self_.work.has_samples;
  }
  keeper_.begin();
  const bool has_samples = MemberStep::compute_gradient(turn);
  if (!self_.work.there) keep_gradient(has_samples);
  return has_samples;
}

void RecoverableStep::stage_passed() {
  keep_gradient(!node_.plan.samples.lost(node_.links.replica(), self_.step));
}

// Before the strategy or another stage can change anything.
void RecoverableStep::keep_gradient(bool has_samples) {
  if (!has_samples) std::ranges::fill(gradients(), 0.0F);
  keeper_.complete();
  self_.work.there = true;
  self_.work.has_samples = has_samples;
  if (node_.plan.replicas() != Replicas::equal) keep(self_.work.before, parameters());
}

void RecoverableStep::exchange_and_update(bool has_samples) {
  try {
    MemberStep::exchange_and_update(has_samples);
  } catch (...) {
    self_.work.scale = clip_.last();
    if (node_.plan.replicas() != Replicas::equal) std::ranges::copy(self_.work.before, parameters().begin());
    throw;
  }
  self_.work.forget();
  self_.work.scale = self_.made_scale = clip_.last();
  tell_followers();
}

TrainingStep::Update RecoverableStep::run_optimizer() {
  if (self_.work.stepped) {  // in an earlier view
    // The stages of a replica add up their norms together, also if one of them has made its step
    // before.
    if (node_.links.pipeline() != nullptr) clip_.scale();
    const std::span<float> target = node_.strategy.step_target(self_.step);
    const Update made{.parameters = target.empty() ? parameters() : target};
    std::ranges::copy(self_.work.after, made.parameters.begin());
    return made;
  }
  const Update made = MemberStep::run_optimizer();
  if (node_.plan.replicas() == Replicas::own) {
    keep(self_.work.after, made.parameters);
    self_.work.stepped = true;
  }
  return made;
}

// Reports this step's result to newcomers if this node's optimizer did not make the step.
void RecoverableStep::tell_followers() {
  if (!is_followed() || node_.plan.replicas() == Replicas::equal) return;
  const bool served = node_.plan.replicas() == Replicas::served;
  if (served || node_.plan.common_state())
    self_.donor->made(self_, keep_common(self_, node_.strategy, node_.plan) || served);
}

void RecoverableStep::finish() {
  const std::vector<float> before(parameters().begin(), parameters().end());
  try {
    MemberStep::finish();
  } catch (...) {
    std::ranges::copy(before, parameters().begin());
    throw;
  }
}

void AsyncStep::exchange_and_update(bool has_samples) {
  updated_ = false;
  try {
    MemberStep::exchange_and_update(has_samples);
  } catch (...) {
    if (updated_) ++node_.counters.step;
    throw;
  }
}

void AsyncStep::update() {
  MemberStep::update();
  updated_ = true;
}

}  // namespace veche
