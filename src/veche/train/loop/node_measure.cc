// What a node tells of itself and measures with the others.
#include "veche/train/loop/measure.h"
#include "veche/train/loop/node.h"

namespace veche {

ProgressReport Node::take_progress() {
  ProgressReport mine;
  mine.train = self_.since_progress;
  mine.interrupted = services_->interrupted && !plan_.in_view;
  mine.sample(self_.learner->parameters());
  mine.going = {.steps = self_.step,
                .bytes = static_cast<double>(strategy_sent().bytes),
                .computing = static_cast<float>(self_.compute.count()),
                .waiting = static_cast<float>(self_.waiting.count()),
                .communicating = static_cast<float>(self_.communication.count()),
                .staleness = static_cast<float>(strategy_->staleness().mean()),
                .to = plan_.learns ? counted_.by_peer() : BytesByPeer{}};
  self_.since_progress = {};
  return mine;
}

// Where nothing learns, what short vectors stand for.
Traffic Node::strategy_sent() const { return plan_.learns ? talk_.sent() : endpoint_->sent(); }

NodeReport Node::take_report() {
  NodeReport mine;
  if (self_.train.count > 0) self_.evaluated_train = self_.train;
  mine.train = self_.evaluated_train;
  mine.images = self_.images;
  mine.steps = self_.step;
  mine.lost = self_.lost;
  mine.training_seconds = self_.training.count();
  mine.compute_seconds = self_.compute.count();
  mine.waiting_seconds = self_.waiting.count();
  mine.communication_seconds = self_.communication.count();
  mine.staleness = strategy_->staleness();
  mine.coding = strategy_->coding();
  mine.sent = strategy_sent();
  if (pipeline_) mine.stage = pipeline_->report();
  self_.train = {};
  return mine;
}

bool Node::tests_own_model(StopReason stopped) const {
  if (test() == nullptr) return false;
  return stopped == StopReason::none ? plan_.tests_model_of(replica(), replicas(), self_.step)
                                     : plan_.tests_model_at_end_of(replica(), replicas());
}

Tested Node::testing_told(StopReason stopped) const {
  if (observer() == nullptr || test() == nullptr) return {};
  const std::size_t mine = samples_of(peers().id(), peers().size(), test()->size());
  const std::size_t all = mine + (tests_own_model(stopped) ? test()->size() : 0);
  return [this, all, done = std::size_t{0}](std::size_t samples) mutable {
    done += samples;
    observer()->on_testing(static_cast<double>(done) / static_cast<double>(all));
  };
}

Evaluation Node::evaluate(StopReason stopped) {
  check_parameters();
  const Tested tested = testing_told(stopped);
  if (observer() != nullptr) observer()->on_measuring();
  if (!plan_.learns) return measure_times(stopped);
  const Time start = now();
  const Message average = mean_model();
  const std::span<const float> mean = average.as<float>();
  Evaluation result;
  result.step = plan_.async() ? self_.mean_step : self_.step;
  result.stopped = stopped;
  result.rate = plan_.schedule.rate(result.step == 0 ? 0 : result.step - 1);
  if (test() != nullptr) result.average_model = score_of_mean(mean, tested);
  check(result.average_model, self_.step);

  NodeReport mine = take_report();
  if (tests_own_model(stopped))
    mine.test = pipeline_ ? pipeline_->test(*test(), 0, test()->size(), tested)
                          : evaluate_range(*endpoint_, *self_.learner, *test(), 0, test()->size(), tested);
  check(mine.test, self_.step);
  mine.from_mean = distance(self_.learner->parameters(), mean);
  if (exchange_) mine.samples_sent = exchange_->sent();
  double norm = squared_norm(mean);
  if (pipeline_) norm = pipeline_->sum(norm);
  const Gathered<NodeReport> reports(control_, mine);
  if (endpoint_->id() == services_->speaker) {
    result.nodes.assign(reports.all().begin(), reports.all().end());
    sum_up(result, norm, plan_.idle());
  }
  timeout_.note(now() - start);
  const bool again = plan_.in_view && self_.last_evaluation == self_.step &&
                     (stopped == StopReason::none || self_.measured_end);
  self_.last_evaluation = self_.step;
  self_.measured_end = stopped != StopReason::none;
  if (observer() != nullptr && !again) observer()->on_evaluation(result);
  return result;
}

Message Node::mean_model() {
  return mean_over_nodes(pipeline_ ? alike_ : control_, self_.learner->parameters(), plan_.idle());
}

Score Node::score_of_mean(std::span<const float> mean, const Tested& tested) {
  if (!pipeline_) return evaluate_mean(control_, *self_.learner, mean, *test(), plan_.idle(), tested);
  const Message buffers = mean_over_nodes(alike_, self_.learner->buffers(), plan_.idle());
  const LentModel model{mean, buffers.as<float>()};
  const std::size_t from = first_sample_of(peers().id(), peers().size(), test()->size());
  const std::size_t to = from + samples_of(peers().id(), peers().size(), test()->size());
  const Gathered<Score> slices(control_, pipeline_->test(*test(), from, to, tested, &model));
  Score total;
  for (const Score& part : slices.all()) total += part;
  return total;
}

Evaluation Node::measure_times(StopReason stopped) {
  Evaluation result;
  result.step = plan_.async() ? self_.mean_step : self_.step;
  result.stopped = stopped;
  result.rate = plan_.schedule.rate(result.step == 0 ? 0 : result.step - 1);
  const Gathered<NodeReport> reports(control_, take_report());
  if (endpoint_->id() == services_->speaker) {
    result.nodes.assign(reports.all().begin(), reports.all().end());
    sum_up(result, 0, plan_.idle());
  }
  if (observer() != nullptr) observer()->on_evaluation(result);
  return result;
}

Evaluation interrupted_at(std::uint64_t step) {
  Evaluation last;
  last.step = step;
  last.stopped = StopReason::interrupted;
  return last;
}

}  // namespace veche
