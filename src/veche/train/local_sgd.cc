#include <algorithm>

#include "veche/base/errors.h"
#include "veche/base/vector_math.h"
#include "veche/comm/collectives.h"
#include "veche/train/key_helpers.h"
#include "veche/train/strategies.h"

namespace veche {
namespace {

// Nodes train alone for `period` steps, then x <- mean of x. With an outer optimiser (SlowMo, DiLoCo) the way
// that the mean has gone since the last average is taken as a gradient of the common model.
class LocalSgd : public Strategy {
 public:
  explicit LocalSgd(StrategyContext context)
      : context_(std::move(context)),
        outer_(context_.options.get<std::string>("outer")),
        outer_rate_(static_cast<float>(context_.options.get<double>("outer_lr"))),
        outer_momentum_(static_cast<float>(context_.options.get<double>("outer_momentum"))),
        weighted_(context_.options.get<bool>("weighted")) {
    read_periods();
    if (outer_ == "none") return;
    common_.assign(context_.learner.parameters().begin(), context_.learner.parameters().end());
    velocity_.resize(common_.size());
  }

  void after_step(std::uint64_t step) override {
    const std::uint64_t period = period_at(step);
    if (period != 0 && (step + 1 - phase_start(step)) % period == 0) average();
  }

  void finish() override {
    if (at_end_) average();
  }

  std::vector<std::span<float>> state() override { return {common_, velocity_}; }

 private:
  struct Phase {
    std::uint64_t from;
    std::uint64_t period;  // 0: none in this phase
  };

  void read_periods() {
    const Value& period = context_.options.at("period");
    const double per_epoch = static_cast<double>(context_.samples.steps_per_epoch());
    const double warm = context_.options.get<double>("warm") * per_epoch;
    if (warm > 0) phases_.push_back({0, 1});
    if (const auto* list = std::get_if<Value::List>(&period.data)) {
      for (const Value& item : *list) add_phase(item, per_epoch);
    } else if (const auto* steps = std::get_if<std::int64_t>(&period.data); steps != nullptr && *steps >= 1) {
      phases_.push_back({static_cast<std::uint64_t>(warm), static_cast<std::uint64_t>(*steps)});
    } else if (const auto* word = std::get_if<std::string>(&period.data); word != nullptr && *word == "end") {
      phases_.push_back({static_cast<std::uint64_t>(warm), 0});
      at_end_ = true;
    } else {
      throw RequestError("strategy.period must be a number of steps, \"end\", or a list of [epoch, period]");
    }
  }

  void add_phase(const Value& item, double per_epoch) {
    Options pair;
    pair.set("phase", item);
    std::vector<double> numbers;
    if (std::holds_alternative<Value::List>(item.data)) numbers = pair.get<std::vector<double>>("phase");
    if (numbers.size() != 2 || numbers[1] < 1)
      throw RequestError("strategy.period as a list holds pairs [epoch, period], such as [[0, 1], [5, 8]]");
    phases_.push_back(
        {static_cast<std::uint64_t>(numbers[0] * per_epoch), static_cast<std::uint64_t>(numbers[1])});
  }

  const Phase* phase(std::uint64_t step) const {
    const Phase* current = nullptr;
    for (const Phase& candidate : phases_)
      if (candidate.from <= step) current = &candidate;
    return current;
  }
  std::uint64_t period_at(std::uint64_t step) const {
    return phase(step) == nullptr ? 0 : phase(step)->period;
  }
  std::uint64_t phase_start(std::uint64_t step) const { return phase(step)->from; }

  void average() {
    const std::span<float> x = context_.learner.parameters();
    const double share = weighted_ ? context_.samples.weight(context_.me(), context_.nodes())
                                   : 1.0 / static_cast<double>(context_.nodes());
    scale(x, static_cast<float>(share));
    all_reduce(context_.channel, x);
    if (outer_ == "none") return;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float slope = common_[i] - x[i];
      velocity_[i] = outer_momentum_ * velocity_[i] + slope;
      common_[i] -=
          outer_rate_ * (outer_ == "nesterov" ? slope + outer_momentum_ * velocity_[i] : velocity_[i]);
      x[i] = common_[i];
    }
  }

  StrategyContext context_;
  const std::string outer_;
  const float outer_rate_, outer_momentum_;
  const bool weighted_;
  std::vector<Phase> phases_;
  bool at_end_ = false;
  std::vector<float> common_, velocity_;  // of the outer optimiser; empty without one
};

}  // namespace

StrategyInfo local_sgd_strategy() {
  StrategyInfo info;
  info.name = "local-sgd";
  info.rule = "every `period` steps x <- mean of x; with an outer optimiser SlowMo and DiLoCo";
  info.keys = {{.name = "period",
                .kind = KeySpec::Kind::any,
                .fallback = Value{std::int64_t{8}},
                .help = "steps between averages; 1: every step; \"end\": once; or [[epoch, period], ...]"},
               real_key("warm", 0, "epochs with period 1 first (post-local SGD)"),
               choice_key("outer", {"none", "momentum", "nesterov"}, "what to do with the mean"),
               real_key("outer_lr", 0.7, "rate of the outer optimiser"),
               real_key("outer_momentum", 0.9, "momentum of the outer optimiser"),
               flag_key("weighted", false, "weight nodes by their samples")};
  info.shorthand = "period";
  info.make = [](StrategyContext context) { return std::make_unique<LocalSgd>(std::move(context)); };
  return info;
}

}  // namespace veche
