#include <algorithm>

#include "veche/errors.h"
#include "veche/train/loop/sample_plan.h"
#include "veche/train/strategies/async_forms.h"
#include "veche/train/strategies/common_keys.h"
#include "veche/train/strategies/local_sgd/outer_optimizer.h"
#include "veche/train/strategies/parameter_server/server_helper.h"
#include "veche/train/strategies/parameter_server/worker_session.h"

namespace veche {
namespace {

// The server's model takes the change that a worker has made since it last asked, by its share or
// by an outer optimiser.
class OuterRule : public ServerRule {
 public:
  OuterRule(const LocalSgdOptions& options, std::size_t trainers, std::size_t length)
      : outer_(options, options.has_outer() ? length : 0, 1 / static_cast<double>(trainers)) {}

  void apply(std::span<float> parameters, std::span<const float> pushed, std::uint64_t /*staleness*/,
             std::span<const float> /*seen*/, std::uint64_t /*update*/) override {
    outer_.step(parameters, pushed);
  }
  std::vector<std::span<float>> state() override { return outer_.state(); }

 private:
  OuterOptimizer outer_;
};

// Asynchronous EASGD: the centre moves alpha of the difference towards the worker, which then moves
// alpha of the difference towards the old centre.
class ElasticRule : public ServerRule {
 public:
  explicit ElasticRule(float alpha) : alpha_(alpha) {}
  void apply(std::span<float> centre, std::span<const float> pushed, std::uint64_t /*staleness*/,
             std::span<const float> /*seen*/, std::uint64_t /*update*/) override {
    for (std::size_t i = 0; i < centre.size(); ++i) centre[i] += alpha_ * (pushed[i] - centre[i]);
  }
  bool answers_first() const override { return true; }

 private:
  const float alpha_;
};

// Every `period` steps of its own a worker pushes its change to a server at node 0 and takes the
// server's model, or is drawn towards it, without waiting for other workers.
class AsyncLocalSgd : public Strategy, public BeforeBackward, public AsyncStrategy, public MeasuredStrategy {
 public:
  explicit AsyncLocalSgd(StrategyContext context)
      : context_(std::move(context)),
        options_(context_.options),
        period_(options_.steps_of_period("update = \"async\"")),
        elastic_(static_cast<float>(options_.elastic)),
        begun_(context_.learner.parameters().begin(), context_.learner.parameters().end()),
        pushed_(begun_.size()),
        network_(context_, {context_.nodes(), context_.me(), 1, 0}, {}),
        helper_(network_,
                [this](std::size_t length) -> std::unique_ptr<ServerRule> {
                  if (elastic_ > 0) return std::make_unique<ElasticRule>(elastic_);
                  return std::make_unique<OuterRule>(options_, context_.samples.trainers(context_.nodes()),
                                                     length);
                }),
        worker_(network_) {
    if (options_.warm > 0 || options_.weighted)
      throw RequestError(
          "strategy.warm and strategy.weighted need nodes in step: leave out update = \"async\"");
  }

  void start() override { helper_.start(); }
  // With a codec the server must know which parameters its answers are changes of. Steps that this
  // node made since its last exchange, before a checkpoint, are kept.
  void before_backward(std::uint64_t step) override {
    if (!network_.coder.on() || joined_) return;
    joined_ = true;
    const std::span<float> x = context_.learner.parameters();
    for (std::size_t i = 0; i < x.size(); ++i) pushed_[i] = x[i] - begun_[i];
    worker_.join(begun_, step);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = begun_[i] + pushed_[i];
  }
  Gradient after_backward(std::uint64_t step) override {
    if (elastic_ == 0 || !due(step, period_)) return Gradient::own;
    const std::span<float> x = context_.learner.parameters();
    worker_.exchange(x, pushed_, step, 0);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= elastic_ * (x[i] - pushed_[i]);
    return Gradient::own;
  }
  void after_step(std::uint64_t step) override {
    if (elastic_ > 0 || !due(step, period_)) return;
    const std::span<float> x = context_.learner.parameters();
    for (std::size_t i = 0; i < x.size(); ++i) pushed_[i] = begun_[i] - x[i];
    if (network_.coder.on()) {
      worker_.exchange(pushed_, begun_, step, 0);
      std::ranges::copy(begun_, x.begin());
      return;
    }
    worker_.exchange(pushed_, x, step, 0);
    std::ranges::copy(x, begun_.begin());
  }
  void leave() override { worker_.leave(); }
  void finish() override {
    if (elastic_ > 0) return;  // the workers' models are the result; their mean is near the centre
    worker_.finish(context_.learner.parameters());
  }

  void inspect(const std::function<void()>& look) override { helper_.inspect(look); }
  Staleness staleness() const override { return helper_.staleness(); }
  Coding coding() const override {
    Coding all = network_.coder.counted();
    all.remembered_squared = worker_.remembered_squared();
    return all;
  }
  SavedState state() override {
    SavedState all = helper_.state();
    worker_.add_state(all);
    all.vectors.emplace_back(begun_);
    return all;
  }

 private:
  StrategyContext context_;
  const LocalSgdOptions options_;
  const std::uint64_t period_;
  const float elastic_;
  std::vector<float> begun_;  // the server's model at the last exchange
  std::vector<float> pushed_;
  bool joined_ = false;
  ServerNetwork network_;
  ServerHelper helper_;
  BlockingSession worker_;
};

}  // namespace

std::unique_ptr<Strategy> make_async_local_sgd(StrategyContext context) {
  return std::make_unique<AsyncLocalSgd>(std::move(context));
}

}  // namespace veche
