#include "veche/train/node_work.h"

#include <algorithm>
#include <cmath>

#include "veche/base/random.h"
#include "veche/base/vector_math.h"
#include "veche/comm/rest.h"

namespace veche {

NodeWork::NodeWork(NodeParts parts, const LoopPlan& plan)
    : p_(std::move(parts)),
      plan_(plan),
      step_(p_.resumed.step),
      train_(p_.resumed.train),
      evaluated_train_(p_.resumed.evaluated) {
  p_.strategy_channel.sent = p_.resumed.sent;
}

void NodeWork::begin() {
  p_.pruner.settle();
  if (step_ == 0) prune();
  p_.strategy.start();
}

void NodeWork::train_step() {
  const Time start = now();
  if (p_.exchange != nullptr) p_.exchange->before_step(step_, p_.loader);
  const bool my_turn = plan_.samples.trains(me(), step_);
  Batch batch;
  if (my_turn && p_.loader != nullptr) batch = p_.loader->next();
  batch.step = step_;
  const bool computes = my_turn && (plan_.own_data || batch.size() > 0);
  p_.strategy.before_backward(step_);
  if (computes) compute(batch);
  const bool lost = computes && plan_.samples.lost(me(), step_);
  lost_ += lost ? 1 : 0;
  const bool has_samples = computes && !lost;
  // Not its turn, out of samples or all in vain: it goes on mixing.
  if (!has_samples) std::ranges::fill(p_.learner.gradients(), 0.0F);
  if (plan_.strategy_steps) p_.pruner.apply(p_.learner.gradients());
  if (plan_.strategy_steps) scale(p_.learner.gradients(), static_cast<float>(clip_scale()));
  communicate([&] { p_.strategy.after_backward(step_); });
  if (!plan_.strategy_steps && (has_samples || plan_.step_without_samples)) {
    const Time computing = now();
    p_.pruner.apply(p_.learner.gradients());
    const Optimizer::Step update{p_.schedule.rate(schedule_step()), clip_scale(), step_ + 1};
    const std::span<float> target = p_.strategy.step_target(step_);
    p_.optimizer.update(target.empty() ? p_.learner.parameters() : target, p_.learner.parameters(),
                        p_.learner.gradients(), update);
    compute_ += now() - computing;
  }
  communicate([&] { p_.strategy.after_step(step_); });
  p_.pruner.apply(p_.learner.parameters());
  ++step_;
  prune();
  const Time took = now() - start;
  training_ += took;
  p_.strategy_channel.patience.note(took);
}

void NodeWork::compute(const Batch& batch) {
  const Time asked = now();
  Time took{0};
  {
    const Slots::Turn turn(p_.slots, step_);
    const Time start = now();
    waiting_ += start - asked;
    const Score score = p_.learner.compute_gradient(batch);
    took = now() - start;
    check(score, step_ + 1);
    train_ += score;
    since_glance_ += score;
    images_ += score.count;
  }
  compute_ += took;
  if (!plan_.slowness.empty()) compute_ += pause((plan_.slowness[me()] - 1) * took);
  if (plan_.stall_probability == 0) return;
  RandomStream random(plan_.seed, "stall", me(), step_);
  if (random.uniform() < plan_.stall_probability)
    waiting_ += pause(Time(random.uniform() * plan_.stall_seconds));
}

Time NodeWork::pause(Time length) {
  const Time start = now();
  rest(endpoint(), length);
  return now() - start;
}

// Where in the schedule of the learning rate it is: where steps are shared, all go through it together.
std::uint64_t NodeWork::schedule_step() const { return plan_.shared_steps ? mean_step_ : step_; }

void NodeWork::prune() {
  if (const auto fraction = plan_.pruning.due(step_))
    p_.pruner.cut(*fraction, p_.control_channel, p_.learner, p_.optimizer);
}

template <class Moment>
void NodeWork::communicate(Moment moment) {
  const Time start = now();
  const Time waited = p_.strategy_channel.waited;
  moment();
  const Time waiting = p_.strategy_channel.waited - waited;
  waiting_ += waiting;
  communication_ += now() - start - waiting;
}

double NodeWork::clip_scale() {
  if (plan_.clip == 0) return 1;
  const double norm = std::sqrt(squared_norm(p_.learner.gradients()));
  return norm > plan_.clip ? plan_.clip / norm : 1;
}

void NodeWork::check(const Score& score, std::uint64_t step) const {
  if (!std::isfinite(score.loss_sum)) diverged("loss", step);
}

void NodeWork::check_parameters() const {
  if (!std::isfinite(squared_norm(p_.learner.parameters()))) diverged("model", step_);
}

void NodeWork::diverged(const std::string& what, std::uint64_t step) const {
  throw Diverged("the " + what + " of node " + std::to_string(endpoint().id().value) +
                 " is not a number at step " + std::to_string(step) +
                 ": lower optimizer.lr, or bound the gradient with optimizer.clip");
}

bool NodeWork::tests_own_model(const std::string& stopped) const {
  return p_.test != nullptr &&
         (!stopped.empty() || plan_.tests_model_of(me(), static_cast<std::size_t>(endpoint().size()), step_));
}

NodeReport NodeWork::take_report() {
  NodeReport mine;
  if (train_.count > 0) evaluated_train_ = train_;
  mine.train = evaluated_train_;
  mine.images = images_;
  mine.steps = step_;
  mine.lost = lost_;
  mine.training_seconds = training_.count();
  mine.compute_seconds = compute_.count();
  mine.waiting_seconds = waiting_.count();
  mine.communication_seconds = communication_.count();
  mine.staleness = p_.strategy.staleness();
  mine.sent = p_.strategy_channel.sent;
  train_ = {};
  return mine;
}

Evaluation NodeWork::evaluate(const std::string& stopped) {
  check_parameters();
  if (p_.observer != nullptr) p_.observer->on_measuring();
  const Time start = now();
  Channel& channel = p_.control_channel;
  const std::vector<float> mean = mean_over_nodes(channel, p_.learner.parameters());
  Evaluation result;
  result.step = plan_.own_pace ? mean_step_ : step_;
  result.stopped = stopped;
  result.rate = p_.schedule.rate(result.step == 0 ? 0 : result.step - 1);
  if (p_.test != nullptr) result.average_model = evaluate_mean(channel, p_.learner, mean, *p_.test, p_.slots);
  check(result.average_model, step_);

  NodeReport mine = take_report();
  if (tests_own_model(stopped))
    mine.test = evaluate_range(p_.learner, *p_.test, 0, p_.test->size(), p_.slots);
  check(mine.test, step_);
  mine.from_mean = distance(p_.learner.parameters(), mean);
  if (p_.exchange != nullptr) mine.samples_sent = p_.exchange->sent();
  result.nodes = gather(channel, mine);
  sum_up(result, squared_norm(mean));
  channel.patience.note(now() - start);
  if (p_.observer != nullptr) p_.observer->on_evaluation(result);
  return result;
}

void NodeWork::save(std::uint64_t number) {
  check_parameters();
  const auto held = p_.strategy.hold();
  p_.checkpointer->write(number, endpoint().id(),
                         {step_, train_, evaluated_train_, p_.strategy_channel.sent,
                          state_vectors(p_.learner, p_.optimizer, p_.pruner, p_.strategy)});
  last_checkpoint_ = number;
}

void NodeWork::checkpoint(std::uint64_t number) {
  if (p_.checkpointer == nullptr || number == last_checkpoint_) return;
  save(number);
  barrier(p_.control_channel);
  if (first()) p_.checkpointer->commit(number);
}

Glance NodeWork::take_glance() {
  Glance mine;
  mine.train = since_glance_;
  mine.interrupted = p_.interrupted;
  mine.sample(p_.learner.parameters());
  since_glance_ = {};
  return mine;
}

Evaluation interrupted_at(std::uint64_t step) {
  Evaluation last;
  last.step = step;
  last.stopped = "interrupted";
  return last;
}

}  // namespace veche
