// A node's step: its pass, what the strategy makes of it, the optimiser.
#include <algorithm>
#include <cmath>

#include "veche/comm/sleep.h"
#include "veche/compress/codec.h"
#include "veche/random.h"
#include "veche/train/loop/node.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

constexpr Time kBetweenStopChecksAsleep{0.2};  // of a node that sleeps, whether somebody wants the run to end

}  // namespace

void Node::train_step() {
  const Time start = now();
  if (exchange_) exchange_->before_step(step_, loader_ ? &*loader_ : nullptr);
  const bool my_turn = plan_.samples.trains(replica(), step_);
  Batch batch;
  if (my_turn && loader_) batch = loader_->next();
  batch.step = step_;
  // Stages but the first see no samples, and know how many there are.
  const std::size_t samples = pipeline_          ? plan_.samples.taken_at(replica(), step_)
                              : plan_.own_data() ? 1
                              : plan_.learns     ? batch.size()
                                                 : plan_.samples.count(me(), step_);
  const bool computes = my_turn && samples > 0;
  strategy_->before_backward(step_);
  if (computes) compute(batch, samples);
  const bool lost = computes && plan_.samples.lost(replica(), step_);
  lost_ += lost ? 1 : 0;
  const bool has_samples = computes && !lost;
  // Not its turn, out of samples or all in vain: it goes on mixing.
  if (!has_samples) std::ranges::fill(learner_->gradients(), 0.0F);
  Gradient gradient = Gradient::own;
  communicate([&] { gradient = strategy_->after_backward(step_); });
  if (gradient == Gradient::shared || (gradient == Gradient::own && has_samples)) {
    const Time computing = now();
    pruner_.apply(learner_->gradients());
    const Optimizer::Step update{plan_.schedule.rate(schedule_step()), clip_scale(), step_ + 1,
                                 plan_.threads};
    const std::span<float> target = strategy_->step_target(step_);
    optimizer_->update(target.empty() ? learner_->parameters() : target, learner_->parameters(),
                       learner_->gradients(), update);
    compute_ += now() - computing;
    if (plan_.trace) trace_.span("update", computing, now());
  }
  if (services_->crowded) learner_->rest();
  communicate([&] { strategy_->after_step(step_); });
  pruner_.apply(learner_->parameters());
  ++step_;
  prune();
  const Time took = now() - start;
  training_ += took;
  patience_.note(took);
}

void Node::compute(const Batch& batch, std::size_t samples) {
  const Score score = pipeline_ ? staged_pass(batch, samples) : pass(batch, samples);
  check(score, step_ + 1);
  train_ += score;
  since_progress_ += score;
  images_ += score.count;
  if (plan_.stall_probability == 0) return;
  RandomStream random(plan_.seed, "stall", me(), step_);
  if (random.uniform() < plan_.stall_probability)
    waiting_ += pause(Time(random.uniform() * plan_.stall_seconds));
}

Score Node::pass(const Batch& batch, std::size_t samples) {
  const Time asked = now();
  Score score;
  const Work work{.step = step_, .flops = plan_.flops_per_sample * static_cast<double>(samples)};
  const Time took = endpoint_->compute(work, [&] { score = learner_->compute_gradient(batch); });
  if (!plan_.learns) score.count = static_cast<std::int64_t>(samples);
  const Time end = now();
  waiting_ += end - asked - took;
  compute_ += took;
  if (plan_.trace) trace_.span("wait", asked, end - took);
  if (plan_.trace) trace_.span("compute", end - took, end);
  if (!plan_.slowness.empty()) compute_ += pause((plan_.slowness[me()] - 1) * took);
  return score;
}

Score Node::staged_pass(const Batch& batch, std::size_t samples) {
  const StageReport before = pipeline_->report();
  std::function<void(Time)> slow_down;
  if (!plan_.slowness.empty())
    slow_down = [this](Time took) { compute_ += pause((plan_.slowness[me()] - 1) * took); };
  const Score score = pipeline_->train(batch, step_, samples, slow_down);
  const StageReport after = pipeline_->report();
  compute_ += Time(after.compute_seconds - before.compute_seconds);
  waiting_ += Time(after.bubble_seconds - before.bubble_seconds);
  return score;
}

// Whoever wants to end the run does not wait for the slowest to have slept.
Time Node::pause(Time length) {
  const Time start = now();
  const Time until = start + length;
  while (now() < until && !services_->interrupted)
    sleep_for(*endpoint_, std::min(until - now(), kBetweenStopChecksAsleep));
  return now() - start;
}

// Where in the schedule of the learning rate it is: where steps are shared, it is where all nodes are.
std::uint64_t Node::schedule_step() const { return plan_.shared_steps ? mean_step_ : step_; }

void Node::prune() {
  if (const auto fraction = plan_.pruning.due(step_))
    pruner_.cut(*fraction, control_, *learner_, *optimizer_);
}

void Node::limit_gradient() {
  pruner_.apply(learner_->gradients());
  scale(learner_->gradients(), static_cast<float>(clip_scale()));
}

template <class Moment>
void Node::communicate(Moment moment) {
  const Time start = now();
  const Time waited = talk_.waited();
  try {
    moment();
  } catch (const NotANumber&) {  // codes of it would be refused by everybody
    diverged("gradient or the model", step_);
  }
  const Time waiting = talk_.waited() - waited;
  waiting_ += waiting;
  if (plan_.trace) trace_.span("communicate", start, now());
  communication_ += now() - start - waiting;
}

double Node::clip_scale() {
  if (plan_.clip == 0) return 1;
  double squares = squared_norm(learner_->gradients());
  if (pipeline_) squares = pipeline_->sum(squares);  // of the whole model
  const double norm = std::sqrt(squares);
  return norm > plan_.clip ? plan_.clip / norm : 1;
}

}  // namespace veche
