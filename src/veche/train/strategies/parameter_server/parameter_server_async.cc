#include <utility>

#include "veche/train/loop/sample_plan.h"
#include "veche/train/optim/model_step.h"
#include "veche/train/optim/rate_schedule.h"
#include "veche/train/strategies/async_forms.h"
#include "veche/train/strategies/delay_line.h"
#include "veche/train/strategies/parameter_server/server_link.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// w <- w - lr g by an optimiser of the server's own, with the gradient's age taken into account on request.
class OptimizerRule : public ServerRule {
 public:
  OptimizerRule(const StrategyContext& context, const ServerPolicy& policy, const std::uint64_t& first_step)
      : schedule_(context.schedule),
        first_step_(first_step),
        optimizer_(
            make_optimizer(context.optimizer_options,
                           layers_of(context.learner,
                                     server_tree(context).part(context.learner.parameters(), context.me())))),
        policy_(policy),
        updates_per_step_(policy.sync ? 1 : context.samples.trainers(context.nodes())) {}

  void apply(std::span<float> parameters, std::span<const float> pushed, std::uint64_t staleness,
             std::span<const float> seen, std::uint64_t update) override {
    if (!seen.empty()) {
      // DC-ASGD: what the gradient would be at the present parameters, to first order, with g*g for the
      // curvature.
      compensated_.assign(pushed.begin(), pushed.end());
      const auto lambda = static_cast<float>(policy_.compensate);
      for (std::size_t i = 0; i < pushed.size(); ++i)
        compensated_[i] += lambda * pushed[i] * pushed[i] * (parameters[i] - seen[i]);
      pushed = compensated_;
    }
    const double damping = policy_.damp ? 1.0 / (1.0 + static_cast<double>(staleness)) : 1;
    make_step(*optimizer_, parameters, pushed,
              {update, schedule_.rate(first_step_ + update / updates_per_step_), damping});
  }
  std::vector<std::span<float>> state() override { return optimizer_->state(); }

 private:
  const RateSchedule& schedule_;
  const std::uint64_t& first_step_;  // that updates are counted from
  const std::unique_ptr<Optimizer> optimizer_;
  const ServerPolicy policy_;
  const std::uint64_t updates_per_step_;
  std::vector<float> compensated_;
};

// Workers push gradients and pull parameters whenever they have one; servers never wait for them all.
class AsyncParameterServer : public Strategy, public HoldsPart {
 public:
  explicit AsyncParameterServer(StrategyContext context)
      : context_(std::move(context)),
        policy_(read_policy(context_.options)),
        delay_(context_.options.get<std::int64_t>("delay"), context_.learner.gradients().size()),
        link_(context_, server_tree(context_), policy_, [this](std::size_t) {
          return std::make_unique<OptimizerRule>(context_, policy_, first_step_);
        }) {
    if (policy_.mean && !policy_.sync)
      share_ = 1.0F / static_cast<float>(context_.samples.trainers(context_.nodes()));
  }

  void start() override { link_.start(); }

  void before_backward(std::uint64_t step) override {
    if (std::exchange(joined_, true)) return;
    alone_ ? link_.join_alone(step) : link_.join(context_.learner.parameters(), step);
  }
  Gradient after_backward(std::uint64_t step) override {
    context_.limit_gradient();
    const std::span<float> gradient = context_.learner.gradients();
    delay_.pass(gradient);
    if (share_ != 1) scale(gradient, share_);
    const bool lost = context_.samples.lost(context_.me(), step);
    const std::span<const float> pushed = lost ? std::span<const float>() : gradient;
    const std::span<float> pulled = context_.learner.parameters();
    if (alone_)
      link_.exchange_alone(pushed, pulled, step, context_.schedule.rate(step));
    else
      link_.exchange(pushed, pulled, step);
    return Gradient::used;
  }
  void leave() override { alone_ ? link_.leave_alone() : link_.leave(); }
  void finish() override {
    const std::span<float> pulled = context_.learner.parameters();
    alone_ ? link_.finish_alone(pulled) : link_.finish(pulled);
  }

  void go_on(std::uint64_t step, std::vector<float> unpushed) override {
    alone_ = true;
    first_step_ = step;
    link_.wait_for_nobody(std::move(unpushed));
  }
  std::vector<float> put_back(std::span<float> parameters) override {
    link_.put_back(parameters);
    return link_.take_unpushed();
  }
  void look_at_rest(const std::function<void()>& look) override { link_.look_at_rest(look); }
  Staleness staleness() const override { return link_.staleness(); }
  Coding coding() const override { return link_.coding(); }
  SavedState state() override {
    SavedState all = link_.state();
    delay_.add_state(all.vectors);
    return all;
  }

 private:
  StrategyContext context_;
  const ServerPolicy policy_;
  DelayLine delay_;
  float share_ = 1;
  bool alone_ = false;            // where members come and go
  std::uint64_t first_step_ = 0;  // of this view
  bool joined_ = false;
  ServerLink link_;
};

}  // namespace

std::unique_ptr<Strategy> make_async_parameter_server(StrategyContext context) {
  return std::make_unique<AsyncParameterServer>(std::move(context));
}

}  // namespace veche
