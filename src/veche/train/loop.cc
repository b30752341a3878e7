#include "veche/train/loop.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "veche/base/random.h"
#include "veche/train/clerk.h"
#include "veche/train/late_evaluation.h"

namespace veche {
namespace {

constexpr std::uint64_t kMostStepsBetweenGlances = 1000;
constexpr Time kSecondsBetweenTellings{0.01};  // of a node at its own pace
constexpr Time kNap{0.05};                     // of one that has no more steps to make, between orders
constexpr Tag kSilence{~1ULL};  // nobody ever sends with this tag: receiving it is a way to wait

class NodeLoop {
 public:
  NodeLoop(NodeParts parts, const LoopPlan& plan)
      : p_(std::move(parts)),
        plan_(plan),
        step_(p_.resumed.step),
        train_(p_.resumed.train),
        evaluated_train_(p_.resumed.evaluated),
        next_glance_(step_ + 1) {
    p_.strategy_channel.sent = p_.resumed.sent;
  }

  Evaluation run() {
    p_.pruner.settle();
    if (step_ == 0) prune();
    p_.strategy.start();
    return plan_.own_pace ? run_at_own_pace() : run_together();
  }

 private:
  Evaluation run_together() {
    Evaluation last;
    std::string stopped = step_ >= plan_.steps ? "steps" : had_reached_target() ? "target_accuracy" : "";
    while (stopped.empty()) {
      train_step();
      if (step_ >= plan_.steps) {
        stopped = "steps";
        break;
      }
      if (step_ >= next_glance_ && glance()) stopped = "interrupted";
      if (due(plan_.evaluate_every)) {
        last = evaluate("");
        if (stopped.empty() && reached_target(last)) stopped = "target_accuracy";
      }
      if (due(plan_.checkpoint_every) || stopped == "interrupted") checkpoint(step_);
    }
    if (stopped == "interrupted")
      return ended_by_hand(step_);  // the resumed run goes on as if nothing had happened
    p_.strategy.finish();
    p_.pruner.apply(p_.learner.parameters());
    last = evaluate(stopped);
    checkpoint(step_);
    return last;
  }

  static Evaluation ended_by_hand(std::uint64_t step) {
    Evaluation last;
    last.step = step;
    last.stopped = "interrupted";
    return last;
  }

  // Nobody is waited for between start and finish: node 0's clerk counts, and orders what must be done by
  // all.
  Evaluation run_at_own_pace() {
    std::optional<Clerk> clerk;
    if (endpoint().id() == NodeId{0}) hire(clerk);
    const bool trainer = plan_.samples.has_data(me());
    bool left = false;
    std::string stopped;
    tell_clerk();
    while (stopped.empty()) {
      const bool trains = trainer && (plan_.shared_steps || step_ < plan_.steps);
      if (trains) train_step();
      if (!trains && !left) p_.strategy.leave();  // others must not count on it
      left = left || !trains;
      if (now() - told_ >= kSecondsBetweenTellings || !trains) tell_clerk();
      stopped = obey(trains ? now() : now() + kNap);
    }
    if (stopped == "lost") throw PeerLost(NodeId{0}, "has ended the run because a node is gone");
    if (!left) p_.strategy.leave();
    barrier(p_.control_channel);  // nobody makes a step any more
    p_.strategy.finish();
    if (clerk) clerk->join();
    std::uint64_t all = 0;
    for (const std::uint64_t steps : gather(p_.control_channel, step_)) all += steps;
    mean_step_ = all / trainers();
    if (stopped == "interrupted") return ended_by_hand(mean_step_);
    const Evaluation last = evaluate(stopped);
    checkpoint(std::max(mean_step_, last_checkpoint_ + 1));
    return last;
  }

  std::uint64_t trainers() const {
    std::uint64_t count = 0;
    for (std::size_t node = 0; node < static_cast<std::size_t>(endpoint().size()); ++node)
      count += plan_.samples.has_data(node) ? 1 : 0;
    return count;
  }

  void hire(std::optional<Clerk>& clerk) {
    clerk.emplace(Clerk::Parts{.endpoint = endpoint(),
                               .plan = plan_,
                               .parameters = p_.learner.parameters().size(),
                               .trainers = static_cast<int>(trainers()),
                               .spare = p_.spare_learner,
                               .test = p_.test,
                               .slots = p_.slots,
                               .interrupted = p_.interrupted,
                               .observer = p_.observer,
                               .checkpointer = p_.checkpointer,
                               .rate = [this](std::uint64_t step) { return p_.schedule.rate(step); },
                               .first_step = p_.checkpoint});
  }

  void tell_clerk() {
    Told news;
    news.steps = step_;
    news.glance.train = since_glance_;
    news.glance.interrupted = p_.interrupted;
    news.glance.sample(p_.learner.parameters());
    since_glance_ = {};
    told_ = now();
    endpoint().send(NodeId{0}, kToldTag, p_.control_channel.pool.copy_of(std::span<const Told>(&news, 1)));
  }

  // Does what the clerk has ordered until now, or waits for an order; returns why the run stops, if it does.
  std::string obey(Time deadline) {
    for (;;) {
      const Received received = endpoint().receive(NodeId{0}, kOrderTag, deadline);
      if (received.outcome == Received::Outcome::peer_lost)
        throw PeerLost(NodeId{0}, "is gone: nobody counts the steps any more");
      if (received.outcome != Received::Outcome::message) return {};
      const Order& order = received.message.as<Order>().front();
      mean_step_ = order.step;
      deadline = now();
      switch (order.kind) {
        case Order::Kind::progress:
          break;
        case Order::Kind::snapshot: {
          check_parameters();
          const auto held = p_.strategy.hold();
          endpoint().send(NodeId{0}, kSnapshotTag,
                          LateEvaluation::snapshot(p_.control_channel.pool, p_.learner, report()));
          train_ = {};
          break;
        }
        case Order::Kind::save:
          save(order.step);
          endpoint().send(NodeId{0}, kSavedTag,
                          p_.control_channel.pool.copy_of(std::span<const std::uint64_t>(&order.step, 1)));
          break;
        case Order::Kind::stop:
          return order.reason.data();
      }
    }
  }

  std::size_t me() const { return static_cast<std::size_t>(endpoint().id().value); }
  bool due(std::uint64_t every) const { return every != 0 && step_ % every == 0; }

  Time now() const { return p_.strategy_channel.endpoint.now(); }
  Endpoint& endpoint() const { return p_.strategy_channel.endpoint; }

  void train_step() {
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

  void compute(const Batch& batch) {
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

  Time pause(Time length) {
    const Time start = now();
    if (length > Time(0)) endpoint().receive(endpoint().id(), kSilence, start + length);
    return now() - start;
  }

  // Where in the schedule of the learning rate it is: where steps are shared, all go through it together.
  std::uint64_t schedule_step() const { return plan_.shared_steps ? mean_step_ : step_; }

  void prune() {
    if (const auto fraction = plan_.pruning.due(step_))
      p_.pruner.cut(*fraction, p_.control_channel, p_.learner, p_.optimizer);
  }

  template <class Moment>
  void communicate(Moment moment) {
    const Time start = now();
    const Time waited = p_.strategy_channel.waited;
    moment();
    const Time waiting = p_.strategy_channel.waited - waited;
    waiting_ += waiting;
    communication_ += now() - start - waiting;
  }

  double clip_scale() {
    if (plan_.clip == 0) return 1;
    const double norm = std::sqrt(squared_norm(p_.learner.gradients()));
    return norm > plan_.clip ? plan_.clip / norm : 1;
  }

  void check(const Score& score, std::uint64_t step) const {
    if (!std::isfinite(score.loss_sum)) diverged("loss", step);
  }

  // Before they are measured or saved: a checkpoint that cannot be trained further is worth nothing.
  void check_parameters() const {
    if (!std::isfinite(squared_norm(p_.learner.parameters()))) diverged("model", step_);
  }

  [[noreturn]] void diverged(const std::string& what, std::uint64_t step) const {
    throw Diverged("the " + what + " of node " + std::to_string(endpoint().id().value) +
                   " is not a number at step " + std::to_string(step) +
                   ": lower optimizer.lr, or bound the gradient with optimizer.clip");
  }

  // Shares how it goes; tells whether to stop, which all nodes decide at the same step.
  bool glance() {
    Glance mine;
    mine.train = since_glance_;
    const double steps = static_cast<double>(step_ - last_glance_step_);
    mine.seconds_per_step = (training_ - last_glance_training_).count() / std::max(steps, 1.0);
    mine.interrupted = p_.interrupted;
    mine.sample(p_.learner.parameters());

    const Time start = now();
    const std::vector<Glance> all = gather(p_.control_channel, mine);
    training_ +=
        now() - start;  // nodes that never talk wait for each other here: it is part of what training takes
    since_glance_ = {};
    last_glance_step_ = step_;
    last_glance_training_ = training_;
    const double pace = std::max(all.front().seconds_per_step, 1e-6);
    next_glance_ = step_ + std::clamp(static_cast<std::uint64_t>(kSecondsBetweenGlances / pace),
                                      std::uint64_t{1}, kMostStepsBetweenGlances);
    if (p_.observer != nullptr) p_.observer->on_progress(summed(all, step_, pace * std::max(steps, 1.0)));
    return std::ranges::any_of(all, &Glance::interrupted);
  }

  bool tests_own_model(const std::string& stopped) const {
    return p_.test != nullptr &&
           (!stopped.empty() ||
            plan_.tests_model_of(me(), static_cast<std::size_t>(endpoint().size()), step_));
  }

  // All that the node itself knows without the others.
  NodeReport report() {
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
    return mine;
  }

  Evaluation evaluate(const std::string& stopped) {
    check_parameters();
    if (p_.observer != nullptr) p_.observer->on_measuring();
    const Time start = now();
    Channel& channel = p_.control_channel;
    const std::vector<float> mean = mean_over_nodes(channel, p_.learner.parameters());
    Evaluation result;
    result.step = plan_.own_pace ? mean_step_ : step_;
    result.stopped = stopped;
    result.rate = p_.schedule.rate(result.step == 0 ? 0 : result.step - 1);
    if (p_.test != nullptr)
      result.average_model = evaluate_mean(channel, p_.learner, mean, *p_.test, p_.slots);
    check(result.average_model, step_);

    NodeReport mine = report();
    if (tests_own_model(stopped))
      mine.test = evaluate_range(p_.learner, *p_.test, 0, p_.test->size(), p_.slots);
    check(mine.test, step_);
    mine.from_mean = distance(p_.learner.parameters(), mean);
    if (p_.exchange != nullptr) mine.samples_sent = p_.exchange->sent();
    result.nodes = gather(channel, mine);
    sum_up(result, squared_norm(mean));
    train_ = {};
    channel.patience.note(now() - start);
    if (p_.observer != nullptr) p_.observer->on_evaluation(result);
    return result;
  }

  bool reached_target(const Evaluation& evaluation) const {
    return plan_.target_accuracy && p_.test != nullptr &&
           evaluation.average_model.accuracy() >= *plan_.target_accuracy;
  }

  // Of a run that was killed between reaching it and its end.
  bool had_reached_target() {
    if (step_ == 0 || !due(plan_.evaluate_every) || !plan_.target_accuracy || p_.test == nullptr)
      return false;
    Evaluation then;
    const std::vector<float> mean = mean_over_nodes(p_.control_channel, p_.learner.parameters());
    then.average_model = evaluate_mean(p_.control_channel, p_.learner, mean, *p_.test, p_.slots);
    return reached_target(then);
  }

  void save(std::uint64_t number) {
    check_parameters();
    const auto held = p_.strategy.hold();
    p_.checkpointer->write(number, endpoint().id(),
                           {step_, train_, evaluated_train_, p_.strategy_channel.sent,
                            state_vectors(p_.learner, p_.optimizer, p_.pruner, p_.strategy)});
    last_checkpoint_ = number;
  }

  void checkpoint(std::uint64_t number) {
    if (p_.checkpointer == nullptr || number == last_checkpoint_) return;
    save(number);
    barrier(p_.control_channel);
    if (endpoint().id() == NodeId{0}) p_.checkpointer->commit(number);
  }

  NodeParts p_;
  const LoopPlan plan_;
  std::uint64_t step_;     // steps done
  Score train_;            // since the last evaluation
  Score evaluated_train_;  // what train_ was then
  Score since_glance_;
  std::int64_t images_ = 0;  // trained on by this process
  std::uint64_t lost_ = 0;
  Time compute_{0}, waiting_{0}, communication_{0}, training_{0};
  std::uint64_t next_glance_;
  std::uint64_t last_glance_step_ = step_;
  Time last_glance_training_{0};
  std::uint64_t last_checkpoint_ = p_.checkpoint;  // a resumed run need not save what it has just read
  Time told_{0};                                   // when the clerk last heard of it
  std::uint64_t mean_step_ = p_.checkpoint;        // of all nodes, as the clerk last told
};

}  // namespace

bool LoopPlan::tests_model_of(std::size_t node, std::size_t nodes, std::uint64_t step) const {
  if (evaluate_own != Who::sample) return evaluate_own == Who::all;
  std::vector<std::size_t> order(nodes);
  for (std::size_t i = 0; i < nodes; ++i) order[i] = i;
  RandomStream(seed, "evaluation sample", step).shuffle(std::span(order));
  const auto end = order.begin() + std::min(sample_size, static_cast<int>(nodes));
  return std::find(order.begin(), end, node) != end;
}

Evaluation train_node(NodeParts parts, const LoopPlan& plan) {
  return NodeLoop(std::move(parts), plan).run();
}

std::vector<std::span<float>> state_vectors(Learner& learner, Optimizer& optimizer, Pruner& pruner,
                                            Strategy& strategy) {
  std::vector<std::span<float>> vectors{learner.parameters(), learner.buffers()};
  for (const std::span<float> part : optimizer.state()) vectors.push_back(part);
  if (!pruner.mask().empty()) vectors.push_back(pruner.mask());
  for (const std::span<float> part : strategy.state()) vectors.push_back(part);
  return vectors;
}

}  // namespace veche
