#include "veche/train/loop/step.h"

#include <algorithm>

#include "veche/comm/sleep.h"
#include "veche/compress/codec.h"
#include "veche/random.h"
#include "veche/train/loop/diverged.h"
#include "veche/train/optim/model_step.h"

namespace veche {
namespace {

constexpr Time kBetweenInterruptChecks{0.2};  // of a node that sleeps

}  // namespace

void TrainingStep::begin() {
  node_.model.pruner.settle();
  if (node_.counters.step == 0) prune();
  // First: the strategy may rely on equal models, which the outside loops make equal here.
  if (driven_ != nullptr) driven_->begin(node_.links.learners, node_.counters.step);
  node_.strategy.start();
}

bool TrainingStep::await_gradient() {
  const Time start = now();
  has_gradient_ = next_gradient();
  const Time took = now() - start;
  node_.counters.training += took;
  node_.counters.compute += took;
  node_.links.timeout.note(took);
  node_.links.span("compute", start, now());
  return has_gradient_;
}

void TrainingStep::run() {
  const Time start = now();
  make();
  const Time took = now() - start;
  node_.counters.training += took;
  node_.links.timeout.note(took);
}

void TrainingStep::make() {
  const std::uint64_t step = node_.counters.step;
  Turn turn = feed_.next(step);
  if (!has_gradient_) turn.samples = 0;
  node_.strategy.before_backward(step);
  const bool has_samples = compute_gradient(turn);
  if (driven_ != nullptr && driven_->exchanges())
    communicate([&] { driven_->exchange(node_.links.learners, has_samples); });
  exchange_and_update(has_samples);
  ++node_.counters.step;
  prune();
}

bool TrainingStep::compute_gradient(const Turn& turn) {
  if (turn.samples > 0) compute(turn);
  node_.counters.lost += turn.lost_count;
  const bool has_samples = turn.samples > 0 && !turn.lost;
  // Without samples the node still takes part in the exchange.
  if (!has_samples) std::ranges::fill(gradients(), 0.0F);
  return has_samples;
}

void TrainingStep::exchange_and_update(bool has_samples) {
  const std::uint64_t step = node_.counters.step;
  Gradient gradient = Gradient::own;
  communicate([&] { gradient = node_.strategy.after_backward(step); });
  if (gradient == Gradient::shared || (gradient == Gradient::own && has_samples)) update();
  if (node_.services.low_memory) node_.model.learner->rest();
  communicate([&] { node_.strategy.after_step(step); });
  node_.model.pruner.apply(parameters());
}

void TrainingStep::update() {
  const Time start = now();
  run_optimizer();
  node_.counters.compute += now() - start;
  node_.links.span("update", start, now());
}

TrainingStep::Update TrainingStep::run_optimizer() {
  node_.model.pruner.apply(gradients());
  const double scale = clip_.scale();
  const std::span<float> target = node_.strategy.step_target(node_.counters.step);
  const Update made{.parameters = target.empty() ? parameters() : target,
                    .rate = node_.plan.schedule.rate(node_.counters.schedule_step(node_.plan.shared_steps)),
                    .scale = scale};
  make_step(*node_.model.optimizer, made.parameters, parameters(), gradients(),
            {node_.counters.step, made.rate, made.scale, node_.plan.threads});
  return made;
}

void TrainingStep::finish() { node_.strategy.finish(); }

void TrainingStep::end() {
  if (driven_ != nullptr) driven_->end();
}

void TrainingStep::prune() {
  if (const auto fraction = node_.plan.pruning.due(node_.counters.step))
    node_.model.pruner.cut(*fraction, node_.links.control, *node_.model.learner, *node_.model.optimizer);
}

template <class Exchange>
void TrainingStep::communicate(Exchange exchange) {
  const Time start = now();
  const Time waited = node_.links.strategy.waited();
  try {
    exchange();
  } catch (const NotANumber&) {  // a codec refuses to encode it
    fail_diverged("gradient or the model", node_.links.id(), node_.counters.step);
  }
  const Time waiting = node_.links.strategy.waited() - waited;
  node_.counters.waiting += waiting;
  node_.links.span("communicate", start, now());
  node_.counters.communication += now() - start - waiting;
}

// The forward and backward pass, and the delays that the plan asks for.
void TrainingStep::compute(const Turn& turn) {
  const Score score = node_.links.pipeline() != nullptr ? staged_pass(turn) : pass(turn);
  check_loss(score, node_.links.id(), node_.counters.step + 1);
  node_.counters.train += score;
  node_.counters.since_progress += score;
  node_.counters.targets += score.count;
  if (node_.plan.stall_probability == 0) return;
  RandomStream random(node_.plan.seed, "stall", node_.links.me(), node_.counters.step);
  if (random.uniform() < node_.plan.stall_probability)
    node_.counters.waiting += pause(Time(random.uniform() * node_.plan.stall_seconds));
}

Score TrainingStep::pass(const Turn& turn) {
  const Time asked = now();
  Score score;
  const Work work{.step = node_.counters.step,
                  .flops = node_.plan.flops_per_sample * static_cast<double>(turn.samples)};
  const Time took = node_.links.endpoint().compute(
      work, [&] { score = node_.model.learner->compute_gradient(turn.batch); });
  if (!node_.plan.learns) score.count = static_cast<std::int64_t>(turn.samples);
  const Time end = now();
  node_.counters.waiting += end - asked - took;
  node_.counters.compute += took;
  node_.links.span("wait", asked, end - took);
  node_.links.span("compute", end - took, end);
  if (!node_.plan.slowness.empty())
    node_.counters.compute += pause((node_.plan.slowness[node_.links.me()] - 1) * took);
  return score;
}

Score TrainingStep::staged_pass(const Turn& turn) {
  const Pipeline& pipeline = *node_.links.pipeline();
  const StageReport before = pipeline.report();
  std::function<void(Time)> slow_down;
  if (!node_.plan.slowness.empty())
    slow_down = [this](Time took) {
      node_.counters.compute += pause((node_.plan.slowness[node_.links.me()] - 1) * took);
    };
  const Score score = train_stage(turn, slow_down);
  const StageReport after = pipeline.report();
  node_.counters.compute += Time(after.compute_seconds - before.compute_seconds);
  node_.counters.waiting += Time(after.bubble_seconds - before.bubble_seconds);
  return score;
}

Score TrainingStep::train_stage(const Turn& turn, const std::function<void(Time)>& after_pass) {
  return node_.links.pipeline()->train(turn.batch, node_.counters.step, turn.samples, after_pass);
}

Time TrainingStep::pause(Time length) {
  const Time start = now();
  sleep(length);
  return now() - start;
}

// Ends early if the user interrupts the run.
void TrainingStep::sleep(Time length) {
  const Time until = now() + length;
  while (now() < until && !node_.services.interrupted)
    sleep_for(node_.links.endpoint(), std::min(until - now(), kBetweenInterruptChecks));
}

}  // namespace veche
