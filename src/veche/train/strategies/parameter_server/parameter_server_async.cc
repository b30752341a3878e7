#include <utility>

#include "veche/train/loop/sample_plan.h"
#include "veche/train/optim/model_step.h"
#include "veche/train/strategies/async_forms.h"
#include "veche/train/strategies/delay_line.h"
#include "veche/train/strategies/parameter_server/server_helper.h"
#include "veche/train/strategies/parameter_server/worker_session.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// w <- w - lr g by the server's own optimiser; the gradient's age is taken into account on request.
class OptimizerRule : public ServerRule {
 public:
  OptimizerRule(const StrategyContext& context, const ServerNetwork& network, const std::uint64_t& first_step)
      : learning_rate_(context.learning_rate),
        first_step_(first_step),
        optimizer_(optimizer_of_part(context, network.tree)),
        policy_(network.policy),
        updates_per_step_(network.policy.sync ? 1 : context.samples.trainers(context.nodes())) {}

  void apply(std::span<float> parameters, std::span<const float> pushed, std::uint64_t staleness,
             std::span<const float> seen, std::uint64_t update) override {
    if (!seen.empty()) {
      // DC-ASGD: what the gradient would be at the present parameters, to first order, with g*g for
      // the curvature.
      compensated_.assign(pushed.begin(), pushed.end());
      const auto lambda = static_cast<float>(policy_.compensate);
      for (std::size_t i = 0; i < pushed.size(); ++i)
        compensated_[i] += lambda * pushed[i] * pushed[i] * (parameters[i] - seen[i]);
      pushed = compensated_;
    }
    const double damping = policy_.damp ? 1.0 / (1.0 + static_cast<double>(staleness)) : 1;
    make_step(*optimizer_, parameters, pushed,
              {update, learning_rate_(first_step_ + update / updates_per_step_), damping});
  }
  std::vector<std::span<float>> state() override { return optimizer_->state(); }

 private:
  const std::function<double(std::uint64_t step)> learning_rate_;
  const std::uint64_t& first_step_;  // that updates are counted from
  const std::unique_ptr<Optimizer> optimizer_;
  const ServerPolicy policy_;
  const std::uint64_t updates_per_step_;
  std::vector<float> compensated_;
};

// A worker pushes each gradient and pulls parameters as soon as it has one; servers do not wait for
// all workers.
class AsyncParameterServer : public Strategy,
                             public BeforeBackward,
                             public AsyncStrategy,
                             public MeasuredStrategy,
                             public AsyncServer {
 public:
  AsyncParameterServer(StrategyContext context, const ParameterServerOptions& options)
      : context_(std::move(context)),
        delay_(options.delay, context_.learner.gradients().size()),
        network_(context_, server_tree(context_, options), options.policy()),
        helper_(
            network_,
            [this](std::size_t) { return std::make_unique<OptimizerRule>(context_, network_, first_step_); }),
        worker_(std::make_unique<BlockingSession>(network_)) {
    if (network_.policy.mean && !network_.policy.sync)
      share_ = 1.0F / static_cast<float>(context_.samples.trainers(context_.nodes()));
  }

  void start() override { helper_.start(); }

  void before_backward(std::uint64_t step) override {
    if (!std::exchange(joined_, true)) worker_->join(context_.learner.parameters(), step);
  }
  Gradient after_backward(std::uint64_t step) override {
    context_.limit_gradient();
    const std::span<float> gradient = context_.learner.gradients();
    delay_.pass(gradient);
    if (share_ != 1) scale(gradient, share_);
    const bool lost = context_.samples.lost(context_.me(), step);
    const std::span<const float> pushed = lost ? std::span<const float>() : gradient;
    worker_->exchange(pushed, context_.learner.parameters(), step, context_.learning_rate(step));
    return Gradient::used;
  }
  void leave() override { worker_->leave(); }
  void finish() override { worker_->finish(context_.learner.parameters()); }

  void resume_at(std::uint64_t step, std::vector<float> unpushed) override {
    first_step_ = step;
    helper_.tolerate_losses();
    worker_ = std::make_unique<GridSession>(network_, std::move(unpushed));
  }
  std::vector<float> put_back(std::span<float> parameters) override {
    helper_.put_back(parameters);
    return worker_->take_unpushed();
  }
  void inspect(const std::function<void()>& look) override { helper_.inspect(look); }
  Staleness staleness() const override { return helper_.staleness(); }
  Coding coding() const override {
    Coding all = network_.coder.counted();
    all.remembered_squared = worker_->remembered_squared();
    return all;
  }
  SavedState state() override {
    SavedState all = helper_.state();
    worker_->add_state(all);
    delay_.add_state(all.vectors);
    return all;
  }

 private:
  StrategyContext context_;
  DelayLine delay_;
  float share_ = 1;
  std::uint64_t first_step_ = 0;  // of this view
  bool joined_ = false;
  ServerNetwork network_;
  ServerHelper helper_;
  std::unique_ptr<WorkerSession> worker_;
};

}  // namespace

std::unique_ptr<Strategy> make_async_parameter_server(StrategyContext context,
                                                      const ParameterServerOptions& options) {
  return std::make_unique<AsyncParameterServer>(std::move(context), options);
}

}  // namespace veche
