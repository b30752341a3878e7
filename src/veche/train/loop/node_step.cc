// A node's step: its pass, what the strategy makes of it, the optimiser.
#include <algorithm>

#include "veche/comm/sleep.h"
#include "veche/comm/views.h"
#include "veche/compress/codec.h"
#include "veche/random.h"
#include "veche/train/loop/node.h"
#include "veche/train/optim/model_step.h"
#include "veche/train/views/state_lending.h"
#include "veche/train/views/torn_step.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr Time kBetweenStopChecksAsleep{0.2};  // of a node that sleeps, whether somebody wants the run to end

}  // namespace

void Node::train_step() {
  const Time start = now();
  if (keeper_) note_for_next_view();
  if (exchange_) exchange_->before_step(self_.step, loader_ ? &*loader_ : nullptr);
  const bool joins = plan_.joins_batches();
  const bool my_turn = joins || plan_.samples.trains(replica(), self_.step);
  Batch batch;
  if (my_turn && loader_) batch = loader_->next();
  batch.step = self_.step;
  // Stages but the first see no samples, and know how many there are.
  const std::size_t samples = pipeline_          ? plan_.samples.taken_at(replica(), self_.step)
                              : plan_.own_data() ? 1
                              : plan_.learns     ? batch.size()
                              : joins ? plan_.samples.count_all(plan_.data.partition.size(), self_.step)
                                      : plan_.samples.count(me(), self_.step);
  const bool computes = my_turn && samples > 0;
  strategy_->before_backward(self_.step);
  bool has_samples = false;
  if (self_.work.there) {
    has_samples = take_gradient();
  } else {
    if (keeper_) keeper_->begin();
    if (computes) compute(batch, samples);
    const bool lost = computes && !joins && plan_.samples.lost(replica(), self_.step);
    self_.lost += joins ? plan_.samples.count_lost(plan_.data.partition.size(), self_.step) : lost ? 1 : 0;
    has_samples = computes && !lost;
    if (!has_samples) forget_gradient();
    if (keeper_ && !self_.work.there) keep_gradient(has_samples);
  }
  if (!plan_.in_view) {
    exchange_and_step(has_samples);
  } else {
    try {
      exchange_and_step(has_samples);
    } catch (...) {
      keeper_ ? undo_step() : count_step_made();
      throw;
    }
    self_.work.forget();
    self_.made_scale = self_.work.scale;
    if (keeper_) tell_followers();
  }
  ++self_.step;
  prune();
  lend();
  const Time took = now() - start;
  self_.training += took;
  timeout_.note(took);
}

// A view of stages may end when some of them have made the step and others have not.
void Node::note_for_next_view() {
  note_step(self_, plan_, replica());
  ServesPart* server = pipeline_ ? strategy_->serves_part() : nullptr;
  if (server == nullptr) return;
  const ServesPart::Part part = server->served_part();
  self_.work.moments_from = part.from;
  for (const std::span<const float> each : part.moments)
    self_.work.moments.emplace_back(each.begin(), each.end());
}

// What was computed for this step in a view before. Returns whether there is a gradient of samples.
bool Node::take_gradient() {
  std::ranges::copy(self_.work.gradient, self_.learner->gradients().begin());
  return self_.work.has_samples;
}

// Not its turn, out of samples or all in vain: it goes on mixing.
void Node::forget_gradient() { std::ranges::fill(self_.learner->gradients(), 0.0F); }

// Before anybody changes it.
void Node::keep_gradient(bool has_samples) {
  if (!has_samples) forget_gradient();
  keeper_->complete();
  self_.work.there = true;
  self_.work.has_samples = has_samples;
  if (plan_.replicas() != Replicas::equal) keep(self_.work.before, self_.learner->parameters());
}

void Node::exchange_and_step(bool has_samples) {
  updated_ = false;
  Gradient gradient = Gradient::own;
  communicate([&] { gradient = strategy_->after_backward(self_.step); });
  if (gradient == Gradient::shared || (gradient == Gradient::own && has_samples)) update();
  if (services_->low_memory) self_.learner->rest();
  communicate([&] { strategy_->after_step(self_.step); });
  self_.pruner.apply(self_.learner->parameters());
}

void Node::update() {
  const Time computing = now();
  if (!self_.work.stepped) self_.pruner.apply(self_.learner->gradients());
  // Stages add up their norms together, also where one of them has made its step before.
  const double clipped = self_.work.stepped && !pipeline_ ? 1 : clip_scale();
  const std::span<float> target = strategy_->step_target(self_.step);
  const std::span<float> into = target.empty() ? self_.learner->parameters() : target;
  if (self_.work.stepped) {
    std::ranges::copy(self_.work.after, into.begin());
  } else {
    const double rate = plan_.schedule.rate(schedule_step());
    make_step(*self_.optimizer, into, self_.learner->parameters(), self_.learner->gradients(),
              {self_.step, rate, clipped, plan_.threads});
    if (self_.lending && self_.lending->follows() && plan_.replicas() == Replicas::equal)
      self_.lending->made(self_.step, self_.learner->gradients(), rate, clipped);
    if (keeper_ && plan_.replicas() == Replicas::own) {
      keep(self_.work.after, into);
      self_.work.stepped = true;
    }
  }
  updated_ = true;
  self_.compute += now() - computing;
  if (plan_.trace) trace_.span("update", computing, now());
}

// The step was not completed: the model is what it was before, and what was computed is kept.
void Node::undo_step() {
  if (plan_.replicas() != Replicas::equal)
    std::ranges::copy(self_.work.before, self_.learner->parameters().begin());
}

// Between two steps: a newcomer may have asked for a copy.
void Node::lend() {
  if (!self_.lending || !self_.lending->due(self_.step, now())) return;
  keep_common();
  strategy_->look_at_rest([this] { self_.lending->take(self_); });
}

// A step that is no optimiser's of this node: what it has made of what all share.
void Node::tell_followers() {
  if (!self_.lending || !self_.lending->follows() || plan_.replicas() == Replicas::equal) return;
  const bool served = plan_.replicas() == Replicas::served;
  if (served || plan_.common_state()) self_.lending->made(self_, keep_common() || served);
}

// What the strategy has in common, as it is now; whether that is news.
bool Node::keep_common() {
  if (!plan_.common_state()) return false;
  bool changed = false;
  const std::vector<std::span<float>> now = strategy_->state().vectors;
  self_.common.resize(now.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::span<const float> before = self_.common[i];
    if (std::ranges::equal(std::as_bytes(now[i]), std::as_bytes(before))) continue;
    self_.common[i].assign(now[i].begin(), now[i].end());
    changed = true;
  }
  return changed;
}

// Where nobody is waited for, a step is made when the optimiser has made it.
void Node::count_step_made() {
  if (!updated_) return;
  self_.work.forget();
  ++self_.step;
}

void Node::compute(const Batch& batch, std::size_t samples) {
  const Score score = pipeline_ ? staged_pass(batch, samples) : pass(batch, samples);
  check(score, self_.step + 1);
  self_.train += score;
  self_.since_progress += score;
  self_.images += score.count;
  if (plan_.stall_probability == 0) return;
  RandomStream random(plan_.seed, "stall", me(), self_.step);
  if (random.uniform() < plan_.stall_probability)
    self_.waiting += pause(Time(random.uniform() * plan_.stall_seconds));
}

Score Node::pass(const Batch& batch, std::size_t samples) {
  const Time asked = now();
  Score score;
  const Work work{.step = self_.step, .flops = plan_.flops_per_sample * static_cast<double>(samples)};
  const Time took = endpoint_->compute(work, [&] { score = self_.learner->compute_gradient(batch); });
  if (!plan_.learns) score.count = static_cast<std::int64_t>(samples);
  const Time end = now();
  self_.waiting += end - asked - took;
  self_.compute += took;
  if (plan_.trace) trace_.span("wait", asked, end - took);
  if (plan_.trace) trace_.span("compute", end - took, end);
  if (!plan_.slowness.empty()) self_.compute += pause((plan_.slowness[me()] - 1) * took);
  return score;
}

Score Node::staged_pass(const Batch& batch, std::size_t samples) {
  const StageReport before = pipeline_->report();
  std::function<void(Time)> slow_down;
  if (!plan_.slowness.empty())
    slow_down = [this](Time took) { self_.compute += pause((plan_.slowness[me()] - 1) * took); };
  std::function<void()> passed;
  if (keeper_) passed = [this] { keep_gradient(!plan_.samples.lost(replica(), self_.step)); };
  const Score score = pipeline_->train(batch, self_.step, samples, slow_down, passed);
  // Who goes on to the exchange may be the only one whose step is completed. The other stages of its replica
  // must then be able to complete theirs.
  if (plan_.in_view) pipeline_->settle();
  const StageReport after = pipeline_->report();
  self_.compute += Time(after.compute_seconds - before.compute_seconds);
  self_.waiting += Time(after.bubble_seconds - before.bubble_seconds);
  return score;
}

// Whoever wants to end the run does not wait for the slowest to have slept.
Time Node::pause(Time length) {
  const Time start = now();
  const Time until = start + length;
  try {
    while (now() < until && !services_->interrupted)
      sleep_for(*endpoint_, std::min(until - now(), kBetweenStopChecksAsleep));
  } catch (const ViewChanged&) {
    // The next wait says so again: what was computed before this pause is not lost.
  }
  return now() - start;
}

// Where in the schedule of the learning rate it is: where steps are shared, it is where all nodes are.
std::uint64_t Node::schedule_step() const { return plan_.shared_steps ? self_.mean_step : self_.step; }

void Node::prune() {
  if (const auto fraction = plan_.pruning.due(self_.step))
    self_.pruner.cut(*fraction, control_, *self_.learner, *self_.optimizer);
}

void Node::limit_gradient() {
  self_.pruner.apply(self_.learner->gradients());
  scale(self_.learner->gradients(), static_cast<float>(clip_scale()));
}

template <class Moment>
void Node::communicate(Moment moment) {
  const Time start = now();
  const Time waited = talk_.waited();
  try {
    moment();
  } catch (const NotANumber&) {  // codes of it would be refused by everybody
    diverged("gradient or the model", self_.step);
  }
  const Time waiting = talk_.waited() - waited;
  self_.waiting += waiting;
  if (plan_.trace) trace_.span("communicate", start, now());
  self_.communication += now() - start - waiting;
}

double Node::clip_scale() {
  self_.work.scale = 1;
  if (plan_.clip == 0) return 1;
  double squares = squared_norm(self_.learner->gradients());
  self_.work.scale = 0;
  if (pipeline_) squares = pipeline_->sum(squares);  // of the whole model
  return self_.work.scale = veche::clip_scale(plan_.clip, squares);
}

}  // namespace veche
