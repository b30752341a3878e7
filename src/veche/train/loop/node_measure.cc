// What a node tells of itself and measures with the others.
#include "veche/train/loop/measure.h"
#include "veche/train/loop/node.h"

namespace veche {

ProgressReport Node::take_progress() {
  ProgressReport mine;
  mine.train = since_progress_;
  mine.interrupted = services_->interrupted;
  mine.sample(learner_->parameters());
  since_progress_ = {};
  return mine;
}

NodeReport Node::take_report() {
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
  mine.staleness = strategy_->staleness();
  mine.sent = plan_.learns ? talk_.sent() : endpoint_->sent();  // what short vectors stand for
  train_ = {};
  return mine;
}

bool Node::tests_own_model(const std::string& stopped) const {
  return test() != nullptr && (!stopped.empty() || plan_.tests_model_of(me(), nodes(), step_));
}

Evaluation Node::evaluate(const std::string& stopped) {
  check_parameters();
  if (observer() != nullptr) observer()->on_measuring();
  if (!plan_.learns) return measure_times(stopped);
  const Time start = now();
  const std::vector<float> mean = mean_over_nodes(control_, learner_->parameters(), plan_.idle());
  Evaluation result;
  result.step = plan_.async() ? mean_step_ : step_;
  result.stopped = stopped;
  result.rate = plan_.schedule.rate(result.step == 0 ? 0 : result.step - 1);
  if (test() != nullptr)
    result.average_model = evaluate_mean(control_, *learner_, mean, *test(), plan_.idle());
  check(result.average_model, step_);

  NodeReport mine = take_report();
  if (tests_own_model(stopped)) mine.test = evaluate_range(*endpoint_, *learner_, *test(), 0, test()->size());
  check(mine.test, step_);
  mine.from_mean = distance(learner_->parameters(), mean);
  if (exchange_) mine.samples_sent = exchange_->sent();
  result.nodes = gather(control_, mine);
  sum_up(result, squared_norm(mean), plan_.idle());
  patience_.note(now() - start);
  if (observer() != nullptr) observer()->on_evaluation(result);
  return result;
}

Evaluation Node::measure_times(const std::string& stopped) {
  Evaluation result;
  result.step = plan_.async() ? mean_step_ : step_;
  result.stopped = stopped;
  result.rate = plan_.schedule.rate(result.step == 0 ? 0 : result.step - 1);
  result.nodes = gather_at_first(control_, take_report());
  if (!first()) return result;
  sum_up(result, 0, plan_.idle());
  if (observer() != nullptr) observer()->on_evaluation(result);
  return result;
}

Evaluation interrupted_at(std::uint64_t step) {
  Evaluation last;
  last.step = step;
  last.stopped = "interrupted";
  return last;
}

}  // namespace veche
