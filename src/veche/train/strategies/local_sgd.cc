#include <algorithm>
#include <optional>

#include "veche/collectives.h"
#include "veche/comm/equal_everywhere.h"
#include "veche/errors.h"
#include "veche/train/compression/coded_sum.h"
#include "veche/train/loop/sample_plan.h"
#include "veche/train/strategies/async_forms.h"
#include "veche/train/strategies/common_keys.h"
#include "veche/train/strategies/local_sgd_options.h"
#include "veche/train/strategies/strategies.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// Steps from which on models are averaged every `period` steps.
struct Phase {
  std::uint64_t from = 0;
  std::uint64_t period = 0;  // 0: no averages in this phase
};

void add_phase(std::vector<Phase>& phases, const Value& item, double per_epoch) {
  Options pair;
  pair.set("phase", item);
  std::vector<double> numbers;
  if (std::holds_alternative<Value::List>(item.data)) numbers = pair.get<std::vector<double>>("phase");
  if (numbers.size() != 2 || !(numbers[0] >= 0 && numbers[0] < 1e9) ||
      !(numbers[1] >= 1 && numbers[1] < 1e15))
    throw RequestError("strategy.period as a list holds pairs [epoch, period], such as [[0, 1], [5, 8]]");
  phases.push_back(
      {static_cast<std::uint64_t>(numbers[0] * per_epoch), static_cast<std::uint64_t>(numbers[1])});
}

std::vector<Phase> phases_of(const LocalSgdOptions& options, std::uint64_t steps_per_epoch) {
  const auto per_epoch = static_cast<double>(steps_per_epoch);
  const double warm = options.warm * per_epoch;
  std::vector<Phase> phases;
  if (warm > 0) phases.push_back({0, 1});
  if (const auto* list = std::get_if<Value::List>(&options.period.data)) {
    for (const Value& item : *list) add_phase(phases, item, per_epoch);
  } else if (const auto* steps = std::get_if<std::int64_t>(&options.period.data);
             steps != nullptr && *steps >= 1) {
    phases.push_back({static_cast<std::uint64_t>(warm), static_cast<std::uint64_t>(*steps)});
  } else if (options.at_end()) {
    phases.push_back({static_cast<std::uint64_t>(warm), 0});
  } else {
    throw RequestError("strategy.period must be a number of steps, \"end\", or a list of [epoch, period]");
  }
  return phases;
}

// Nodes train alone for `period` steps, then x <- mean of x. With an outer optimiser (SlowMo,
// DiLoCo) the change of the mean since the last average is taken as a gradient of the common model.
class LocalSgd : public Strategy, public MeasuredStrategy {
 public:
  explicit LocalSgd(StrategyContext context)
      : context_(std::move(context)),
        coder_(context_),
        options_(context_.options),
        elastic_(static_cast<float>(options_.elastic)),
        outer_rate_(static_cast<float>(options_.outer_rate)),
        phases_(phases_of(options_, context_.samples.steps_per_epoch())) {
    if (elastic_ > 0 && (options_.has_outer() || options_.at_end()))
      throw RequestError(
          "strategy.elastic has a centre of its own: leave out strategy.outer and period = \"end\"");
    if (coder_.on()) deltas_.emplace(coder_, context_.channel, coder_.whole(false), AllReduceAlgorithm::ring);
    if (!options_.has_outer() && elastic_ == 0 && !deltas_) return;
    common_.assign(context_.learner.parameters().begin(), context_.learner.parameters().end());
    if (options_.has_outer()) velocity_.resize(common_.size());
  }

  void start() override {
    if (deltas_ && started_ == 0 && equal_everywhere(context_.channel, common_)) agreed_ = 1;
    started_ = 1;
  }

  // The elastic force acts at the parameters at which the gradient was taken.
  Gradient after_backward(std::uint64_t step) override {
    coded_ = coder_.codes(step) && agreed_ != 0;
    if (elastic_ > 0 && averages_after(step)) pull_together();
    return Gradient::own;
  }

  void after_step(std::uint64_t step) override {
    if (elastic_ == 0 && averages_after(step)) average();
  }

  bool averages_after(std::uint64_t step) const {
    const std::uint64_t period = period_at(step);
    return period != 0 && (step + 1 - phase_start(step)) % period == 0;
  }

  void finish() override {
    if (options_.at_end()) average();
  }

  SavedState state() override {
    SavedState all{{common_, velocity_}, {}};
    coder_.add_state(all);
    if (!deltas_) return all;
    deltas_->add_state(all);
    all.numbers.insert(all.numbers.end(), {&started_, &agreed_});
    return all;
  }
  Coding coding() const override {
    Coding all = coder_.counted();
    if (deltas_) all.remembered_squared = deltas_->remembered_squared();
    return all;
  }

 private:
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

  // EASGD: x_i <- x_i - alpha (x_i - c), c <- c + beta (mean of x - c).
  void pull_together() {
    const std::span<float> x = context_.learner.parameters();
    mean_.assign(x.begin(), x.end());
    take_mean(mean_);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] -= elastic_ * (x[i] - common_[i]);
      common_[i] += options_.centre_rate * (mean_[i] - common_[i]);
    }
  }

  double share() const {
    return options_.weighted ? context_.samples.weight(context_.me(), context_.nodes())
                             : 1.0 / static_cast<double>(context_.nodes());
  }

  // With a codec: of the deltas from the common model.
  void take_mean(std::span<float> x) {
    if (coded_)
      for (std::size_t i = 0; i < x.size(); ++i) x[i] -= common_[i];
    scale(x, static_cast<float>(share()));
    if (!coded_) return all_reduce(context_.channel, x);
    deltas_->sum(x);
    add(x, common_);
  }

  void average() {
    const std::span<float> x = context_.learner.parameters();
    take_mean(x);
    if (!options_.has_outer()) {
      if (deltas_) std::ranges::copy(x, common_.begin());
      agreed_ = 1;
      return;
    }
    const bool nesterov = options_.outer == "nesterov";
    const float momentum = options_.outer_momentum;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float slope = common_[i] - x[i];
      velocity_[i] = momentum * velocity_[i] + slope;
      common_[i] -= outer_rate_ * (nesterov ? slope + momentum * velocity_[i] : velocity_[i]);
      x[i] = common_[i];
    }
  }

  StrategyContext context_;
  Coder coder_;
  const LocalSgdOptions options_;
  const float elastic_, outer_rate_;
  const std::vector<Phase> phases_;
  std::optional<CodedSum> deltas_;  // none without a codec
  bool coded_ = false;              // in this step
  std::uint64_t started_ = 0;
  std::uint64_t agreed_ = 0;  // all nodes know the common model
  // The model that all nodes have in common, and the outer optimiser's velocity; empty without an
  // outer optimiser, an elastic centre or a codec.
  std::vector<float> common_, velocity_;
  std::vector<float> mean_;
};

std::optional<Refusal> refuses_codec_of_local_sgd(const CodecRequest& request) {
  const LocalSgdOptions options(request.options);
  const bool elastic = options.elastic > 0;
  if (!request.equal_start && (elastic || options.has_outer()))
    return Refusal{"deltas are measured from what all models have in common, and these start apart",
                   "choose model.start = \"equal\""};
  if (options.at_end() && request.lossy)
    return Refusal{"there is only one average, and no later one to send what a code leaves out",
                   "choose compress.codec = \"fp16\", or a number for strategy.period"};
  if (request.async && elastic)
    return Refusal{"an elastic worker sends its whole model, from which no copy is near",
                   "choose strategy.update = \"sync\", or leave out strategy.elastic"};
  return {};
}

}  // namespace

StrategyInfo local_sgd_strategy() {
  StrategyInfo info;
  info.name = "local-sgd";
  info.rule = "every `period` steps x <- mean of x; with an outer optimiser SlowMo and DiLoCo";
  info.keys = {
      {.name = "period",
       .kind = KeySpec::Kind::any,
       .fallback = Value{std::int64_t{8}},
       .help = "steps between averages; 1: every step; \"end\": once; or [[epoch, period], ...]"},
      real_key("warm", 0, "epochs with period 1 first (post-local SGD)"),
      choice_key("outer", {"none", "momentum", "nesterov"}, "outer optimiser of the mean"),
      real_key("outer_lr", 0.7, "rate of the outer optimiser"),
      real_key("outer_momentum", 0.9, "momentum of the outer optimiser"),
      flag_key("weighted", false, "weight nodes by their samples"),
      real_key("elastic", 0, "alpha of EASGD: a force towards a centre instead of the average; 0: none"),
      real_key("centre_rate", 0.4, "beta of EASGD: how fast the centre follows the mean"),
      choice_key("update", {"sync", "async"},
                 "async: exchange with a server at node 0 without waiting for other nodes")};
  info.shorthand = "period";
  info.pace = [](const Options& options) {
    return LocalSgdOptions(options).async ? Pace::async : Pace::in_step;
  };
  info.common_state = [](const Options& section) -> std::optional<CommonState> {
    const LocalSgdOptions options(section);
    if (options.elastic > 0) return CommonState{"an elastic centre", "leave out strategy.elastic"};
    if (options.has_outer()) return CommonState{"an outer optimiser", "leave out strategy.outer"};
    return {};
  };
  info.coded = {.exchange = CodedExchange::deltas, .refuses = refuses_codec_of_local_sgd};
  // The changes since a worker last asked would be lost.
  info.refuses_grid = [](const Options& options) -> std::optional<Refusal> {
    if (!LocalSgdOptions(options).async) return {};
    return Refusal{"the asynchronous form of strategy.name = \"local-sgd\"", "choose the one in step"};
  };
  info.make = [](StrategyContext context) -> std::unique_ptr<Strategy> {
    if (LocalSgdOptions(context.options).async) return make_async_local_sgd(std::move(context));
    return std::make_unique<LocalSgd>(std::move(context));
  };
  return info;
}

}  // namespace veche
