#include "veche/train/loop/evaluator.h"

#include "veche/train/loop/diverged.h"
#include "veche/train/loop/membership.h"

namespace veche {

ProgressReport Evaluator::take_progress() {
  const Counters& counters = node_.counters;
  ProgressReport mine;
  mine.train = counters.since_progress;
  mine.interrupted = node_.membership.stops_run();
  mine.sample(learner().parameters());
  mine.going = {.steps = counters.step,
                .bytes = static_cast<double>(strategy_sent().bytes),
                .computing = static_cast<float>(counters.compute.count()),
                .waiting = static_cast<float>(counters.waiting.count()),
                .communicating = static_cast<float>(counters.communication.count()),
                .staleness = static_cast<float>(node_.strategy.staleness().mean()),
                .to = node_.plan.learns ? node_.links.counted.by_peer() : BytesByPeer{}};
  node_.counters.since_progress = {};
  return mine;
}

// Where nothing learns, short messages stand for the vectors of a model; only the endpoint counts
// the bytes of the vectors.
Traffic Evaluator::strategy_sent() const {
  return node_.plan.learns ? node_.links.strategy.sent() : node_.links.endpoint().sent();
}

NodeReport Evaluator::take_report() {
  Counters& counters = node_.counters;
  NodeReport mine;
  if (counters.train.count > 0) counters.evaluated_train = counters.train;
  mine.train = counters.evaluated_train;
  mine.targets = counters.targets;
  mine.steps = counters.step;
  mine.lost = counters.lost;
  mine.training_seconds = counters.training.count();
  mine.compute_seconds = counters.compute.count();
  mine.waiting_seconds = counters.waiting.count();
  mine.communication_seconds = counters.communication.count();
  mine.staleness = node_.strategy.staleness();
  mine.coding = node_.strategy.coding();
  mine.sent = strategy_sent();
  if (node_.links.pipeline() != nullptr) mine.stage = node_.links.pipeline()->report();
  counters.train = {};
  return mine;
}

bool Evaluator::tests_own_model(StopReason stopped) const {
  if (node_.test() == nullptr) return false;
  const std::size_t replica = node_.links.replica(), replicas = node_.links.replicas();
  return stopped == StopReason::none ? node_.plan.tests_model_of(replica, replicas, node_.counters.step)
                                     : node_.plan.tests_model_at_end_of(replica, replicas);
}

// Tells the observer which part of the test samples is done; empty without an observer.
Tested Evaluator::testing_observer(StopReason stopped) const {
  Observer* const observer = node_.observer();
  if (observer == nullptr || node_.test() == nullptr) return {};
  const std::size_t samples = node_.test()->size();
  const std::size_t mine = test_slice(node_.links.peers().id(), node_.links.peers().size(), samples).size();
  const std::size_t all = mine + (tests_own_model(stopped) ? samples : 0);
  return [observer, all, done = std::size_t{0}](std::size_t count) mutable {
    done += count;
    observer->on_testing(static_cast<double>(done) / static_cast<double>(all));
  };
}

Evaluation Evaluator::begun(StopReason stopped) const {
  Evaluation result;
  result.step = node_.plan.async() ? node_.counters.mean_step : node_.counters.step;
  result.stopped = stopped;
  result.average_model = node_.plan.untested();
  result.rate = node_.plan.schedule.rate(result.step == 0 ? 0 : result.step - 1);
  return result;
}

Evaluation Evaluator::evaluate(StopReason stopped) {
  Connections& links = node_.links;
  const std::uint64_t step = node_.counters.step;
  Pipeline* const pipeline = links.pipeline();
  const Dataset* const test = node_.test();
  check_parameters(learner().parameters(), links.id(), step);
  const Tested tested = testing_observer(stopped);
  Observer* const observer = node_.observer();
  if (observer != nullptr) observer->on_measuring();
  if (!node_.plan.learns) return measure_times(stopped);
  const Time start = links.now();
  const Message average = mean_model();
  const std::span<const float> mean = average.as<float>();
  Evaluation result = begun(stopped);
  if (test != nullptr) result.average_model = result_of_mean(mean, tested);
  check_loss(result.average_model, links.id(), step);
  if (observer != nullptr && pipeline == nullptr && node_.plan.write_sample) result.sample = sample_of(mean);

  NodeReport mine = take_report();
  if (tests_own_model(stopped))
    mine.test = pipeline != nullptr
                    ? pipeline->test(*test, 0, test->size(), tested)
                    : evaluate_range(links.endpoint(), learner(), *test, 0, test->size(), tested);
  check_loss(mine.test, links.id(), step);
  mine.from_mean = distance(learner().parameters(), mean);
  mine.samples_sent = feed_.samples_sent();
  double norm = squared_norm(mean);
  if (pipeline != nullptr) norm = pipeline->sum(norm);
  const Gathered<NodeReport> reports(links.control, mine);
  if (links.id() == node_.services.speaker) {
    result.nodes.assign(reports.all().begin(), reports.all().end());
    sum_up(result, norm, node_.plan.idle());
  }
  links.timeout.note(links.now() - start);
  const bool is_new = node_.membership.is_new_evaluation(step, stopped);
  if (observer != nullptr && is_new) observer->on_evaluation(result);
  return result;
}

Evaluation Evaluator::measure_times(StopReason stopped) {
  Evaluation result = begun(stopped);
  const Gathered<NodeReport> reports(node_.links.control, take_report());
  if (node_.links.id() == node_.services.speaker) {
    result.nodes.assign(reports.all().begin(), reports.all().end());
    sum_up(result, 0, node_.plan.idle());
  }
  if (node_.observer() != nullptr) node_.observer()->on_evaluation(result);
  return result;
}

std::string Evaluator::sample_of(std::span<const float> mean) {
  std::string text;
  const LentModel model{mean, learner().buffers()};
  node_.links.endpoint().compute({.step = node_.counters.step}, [&] {
    const Lending lending(learner(), model);
    text = node_.plan.write_sample(learner());
  });
  return text;
}

// The mean of the part of the model that this node has.
Message Evaluator::mean_model() {
  return mean_over_nodes(node_.links.pipeline() != nullptr ? node_.links.stage_control : node_.links.control,
                         learner().parameters(), node_.plan.idle());
}

// The test result of the whole averaged model, of which `mean` is this node's part.
TestResult Evaluator::result_of_mean(std::span<const float> mean, const Tested& tested) {
  Connections& links = node_.links;
  const Dataset& test = *node_.test();
  if (links.pipeline() == nullptr)
    return evaluate_mean(links.control, learner(), mean, test, node_.plan.idle(), tested);
  const Message buffers = mean_over_nodes(links.stage_control, learner().buffers(), node_.plan.idle());
  const LentModel model{mean, buffers.as<float>()};
  const TestSlice slice = test_slice(links.peers().id(), links.peers().size(), test.size());
  ClassScores classes(test);
  const Score mine = links.pipeline()->test(test, slice.from, slice.to, tested, &model, &classes);
  return joined_result(links.control, test, mine, std::move(classes));
}

bool Evaluator::had_reached_target() {
  const std::uint64_t step = node_.counters.step, every = node_.plan.evaluate_every;
  const bool evaluated = step != 0 && every != 0 && step % every == 0;
  if (!evaluated || !node_.plan.target || node_.test() == nullptr) return false;
  const Message mean = mean_model();
  return reaches_target(result_of_mean(mean.as<float>()));
}

bool Evaluator::reaches_target(const TestResult& average_model) const {
  return node_.plan.target && node_.test() != nullptr && node_.plan.target->is_reached_by(average_model);
}

Evaluation interrupted_at(std::uint64_t step) {
  Evaluation last;
  last.step = step;
  last.stopped = StopReason::interrupted;
  return last;
}

}  // namespace veche
