#include "veche/train/loop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "veche/base/random.h"

namespace veche {
namespace {

constexpr double kSecondsBetweenGlances = 0.5;
constexpr std::uint64_t kMostStepsBetweenGlances = 1000;
constexpr std::size_t kGlanceSample = 256;

// What a node tells the others at a glance. From node 0's pace everybody derives the step of the next one.
struct Glance {
  Score train;
  double seconds_per_step = 0;
  bool interrupted = false;
  std::array<float, kGlanceSample> parameters = {};  // evenly spread; unused places are 0 everywhere
};

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
    p_.strategy.start();
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
      if (due(plan_.checkpoint_every) || stopped == "interrupted") checkpoint();
    }
    if (stopped == "interrupted") {  // saved as it is: the resumed run goes on as if nothing had happened
      last.step = step_;
      last.stopped = stopped;
      return last;
    }
    p_.strategy.finish();
    last = evaluate(stopped);
    checkpoint();
    return last;
  }

 private:
  bool due(std::uint64_t every) const { return every != 0 && step_ % every == 0; }

  Time now() const { return p_.strategy_channel.endpoint.now(); }
  Endpoint& endpoint() const { return p_.strategy_channel.endpoint; }

  void train_step() {
    const Time start = now();
    if (p_.exchange != nullptr) p_.exchange->before_step(step_, p_.loader);
    const bool my_turn = plan_.samples.trains(static_cast<std::size_t>(endpoint().id().value), step_);
    Batch batch;
    if (my_turn && p_.loader != nullptr) batch = p_.loader->next();
    batch.step = step_;
    const bool has_samples = my_turn && (plan_.own_data || batch.size() > 0);
    p_.strategy.before_backward(step_);
    if (has_samples) {
      const Slots::Turn turn(p_.slots, step_);
      const Time computing = now();
      const Score score = p_.learner.compute_gradient(batch);
      compute_ += now() - computing;
      check(score, step_ + 1);
      train_ += score;
      since_glance_ += score;
      images_ += score.count;
    } else {
      std::ranges::fill(p_.learner.gradients(), 0.0F);  // not its turn, or out of samples: goes on mixing
    }
    if (plan_.strategy_steps) scale(p_.learner.gradients(), static_cast<float>(clip_scale()));
    communicate([&] { p_.strategy.after_backward(step_); });
    if (!plan_.strategy_steps && (has_samples || plan_.step_without_samples)) {
      const Time computing = now();
      const Optimizer::Step update{p_.schedule.rate(step_), clip_scale(), step_ + 1};
      const std::span<float> target = p_.strategy.step_target(step_);
      p_.optimizer.update(target.empty() ? p_.learner.parameters() : target, p_.learner.parameters(),
                          p_.learner.gradients(), update);
      compute_ += now() - computing;
    }
    communicate([&] { p_.strategy.after_step(step_); });
    ++step_;
    const Time took = now() - start;
    training_ += took;
    p_.strategy_channel.patience.note(took);
  }

  template <class Moment>
  void communicate(Moment moment) {
    const Time start = now();
    moment();
    communication_ += now() - start;
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
    const std::span<const float> x = p_.learner.parameters();
    const std::size_t stride = std::max<std::size_t>(1, x.size() / kGlanceSample);
    for (std::size_t i = 0; i < kGlanceSample && i * stride < x.size(); ++i)
      mine.parameters[i] = x[i * stride];

    const Time start = now();
    const std::vector<Glance> all = gather(p_.control_channel, mine);
    training_ += now() - start;  // nodes that never talk wait for each other here: it is part of what training takes
    since_glance_ = {};
    last_glance_step_ = step_;
    last_glance_training_ = training_;
    const double pace = std::max(all.front().seconds_per_step, 1e-6);
    next_glance_ = step_ + std::clamp(static_cast<std::uint64_t>(kSecondsBetweenGlances / pace),
                                      std::uint64_t{1}, kMostStepsBetweenGlances);
    if (p_.observer != nullptr) p_.observer->on_progress(summed(all, pace, steps));
    return std::ranges::any_of(all, &Glance::interrupted);
  }

  Progress summed(const std::vector<Glance>& all, double pace, double steps) const {
    Progress progress;
    progress.step = step_;
    std::array<double, kGlanceSample> mean{};
    for (const Glance& glance : all) {
      progress.train += glance.train;
      for (std::size_t i = 0; i < kGlanceSample; ++i)
        mean[i] += static_cast<double>(glance.parameters[i]) / static_cast<double>(all.size());
    }
    double variance = 0;
    double norm = 0;
    for (std::size_t i = 0; i < kGlanceSample; ++i) {
      norm += mean[i] * mean[i];
      for (const Glance& glance : all) {
        const double difference = static_cast<double>(glance.parameters[i]) - mean[i];
        variance += difference * difference / static_cast<double>(all.size());
      }
    }
    progress.cv = norm == 0 ? std::sqrt(variance) : std::sqrt(variance / norm);
    progress.images_per_second = static_cast<double>(progress.train.count) / (pace * std::max(steps, 1.0));
    return progress;
  }

  bool tests_own_model(const std::string& stopped) const {
    if (p_.test == nullptr) return false;
    if (!stopped.empty()) return true;
    if (plan_.evaluate_own != LoopPlan::Who::sample) return plan_.evaluate_own == LoopPlan::Who::all;
    // The same draw on every node.
    std::vector<int> nodes(static_cast<std::size_t>(endpoint().size()));
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<int>(i);
    RandomStream(plan_.seed, "evaluation sample", step_).shuffle(std::span(nodes));
    const auto end = nodes.begin() + std::min<std::ptrdiff_t>(plan_.sample_size, endpoint().size());
    return std::find(nodes.begin(), end, endpoint().id().value) != end;
  }

  Evaluation evaluate(const std::string& stopped) {
    check_parameters();
    if (p_.observer != nullptr) p_.observer->on_measuring();
    const Time start = now();
    Channel& channel = p_.control_channel;
    const std::vector<float> mean = mean_over_nodes(channel, p_.learner.parameters());
    Evaluation result;
    result.step = step_;
    result.stopped = stopped;
    result.rate = p_.schedule.rate(step_ == 0 ? 0 : step_ - 1);
    if (p_.test != nullptr)
      result.average_model = evaluate_mean(channel, p_.learner, mean, *p_.test, p_.slots);
    check(result.average_model, step_);

    NodeReport mine;
    if (train_.count > 0) evaluated_train_ = train_;
    mine.train = evaluated_train_;
    mine.images = images_;
    if (tests_own_model(stopped))
      mine.test = evaluate_range(p_.learner, *p_.test, 0, p_.test->size(), p_.slots);
    check(mine.test, step_);
    mine.from_mean = distance(p_.learner.parameters(), mean);
    mine.training_seconds = training_.count();
    mine.compute_seconds = compute_.count();
    mine.communication_seconds = communication_.count();
    mine.sent = p_.strategy_channel.sent;
    if (p_.exchange != nullptr) mine.samples_sent = p_.exchange->sent();
    result.nodes = gather(channel, mine);
    result.cv = coefficient_of_variation(result.nodes, squared_norm(mean));
    double images = 0;
    for (const NodeReport& node : result.nodes) {
      images += static_cast<double>(node.images);
      result.seconds = std::max(result.seconds, node.training_seconds);
    }
    result.images_per_second = result.seconds > 0 ? images / result.seconds : 0;
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

  void checkpoint() {
    if (p_.checkpointer == nullptr || step_ == last_checkpoint_) return;
    check_parameters();
    NodeState state{step_, train_, evaluated_train_, p_.strategy_channel.sent,
                    state_vectors(p_.learner, p_.optimizer, p_.strategy)};
    p_.checkpointer->write(endpoint().id(), state);
    barrier(p_.control_channel);
    if (endpoint().id() == NodeId{0}) p_.checkpointer->commit(step_);
    last_checkpoint_ = step_;
  }

  NodeParts p_;
  const LoopPlan plan_;
  std::uint64_t step_;     // steps done
  Score train_;            // since the last evaluation
  Score evaluated_train_;  // what train_ was then
  Score since_glance_;
  std::int64_t images_ = 0;  // trained on by this process
  Time compute_{0}, communication_{0}, training_{0};
  std::uint64_t next_glance_;
  std::uint64_t last_glance_step_ = step_;
  Time last_glance_training_{0};
  std::uint64_t last_checkpoint_ = step_;  // a resumed run need not save what it has just read
};

}  // namespace

Evaluation train_node(NodeParts parts, const LoopPlan& plan) {
  return NodeLoop(std::move(parts), plan).run();
}

std::vector<std::span<float>> state_vectors(Learner& learner, Optimizer& optimizer, Strategy& strategy) {
  std::vector<std::span<float>> vectors{learner.parameters(), learner.buffers()};
  for (const std::span<float> part : optimizer.state()) vectors.push_back(part);
  for (const std::span<float> part : strategy.state()) vectors.push_back(part);
  return vectors;
}

}  // namespace veche
