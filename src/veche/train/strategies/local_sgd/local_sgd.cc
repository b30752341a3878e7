#include <algorithm>
#include <optional>

#include "veche/collectives.h"
#include "veche/comm/equal_everywhere.h"
#include "veche/train/compression/coded_sum.h"
#include "veche/train/strategies/async_forms.h"
#include "veche/train/strategies/common_keys.h"
#include "veche/train/strategies/local_sgd/averaging_times.h"
#include "veche/train/strategies/local_sgd/control_variates.h"
#include "veche/train/strategies/local_sgd/outer_optimizer.h"
#include "veche/train/strategies/local_sgd/streaming.h"
#include "veche/train/strategies/strategies.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// Nodes train alone for `period` steps, then x <- mean of x. With an outer optimiser (SlowMo,
// DiLoCo, FedOpt) the change of the mean since the last average is taken as a gradient of the
// common model. With a proximal term (FedProx) or control variates (SCAFFOLD) nodes with different
// data stay closer together.
class LocalSgd : public Strategy, public MeasuredStrategy, public DividedState {
 public:
  explicit LocalSgd(StrategyContext context)
      : context_(std::move(context)),
        coder_(context_),
        options_(context_.options),
        elastic_(static_cast<float>(options_.elastic)),
        proximal_(static_cast<float>(options_.proximal)),
        times_(options_, context_.samples.steps_per_epoch()),
        outer_(options_, options_.has_outer() ? context_.learner.parameters().size() : 0) {
    if (coder_.on()) deltas_.emplace(coder_, context_.channel, coder_.whole(false), AllReduceAlgorithm::ring);
    if (options_.scaffold) controls_.emplace(context_, coder_);
    if (options_.has_outer() || elastic_ > 0 || proximal_ > 0 || deltas_)
      common_.assign(context_.learner.parameters().begin(), context_.learner.parameters().end());
  }

  void start() override {
    if (deltas_ && started_ == 0 && equal_everywhere(context_.channel, common_)) agreed_ = 1;
    started_ = 1;
  }

  // The elastic force acts at the parameters at which the gradient was taken.
  Gradient after_backward(std::uint64_t step) override {
    coded_ = coder_.codes(step) && agreed_ != 0;
    averages_ = times_.after(step);
    if (elastic_ > 0 && averages_) pull_together();
    if (options_.pulls() && context_.samples.count(context_.me(), step) > 0) change_gradient();
    return Gradient::own;
  }

  void after_step(std::uint64_t /*step*/) override {
    if (elastic_ == 0 && averages_) average();
  }

  void finish() override {
    if (options_.at_end()) average();
  }

  SavedState state() override {
    SavedState all{{common_}, {}};
    for (const std::span<float> part : outer_.state()) all.vectors.push_back(part);
    coder_.add_state(all);
    if (controls_) controls_->add_state(all);
    if (!deltas_) return all;
    deltas_->add_state(all);
    all.numbers.insert(all.numbers.end(), {&started_, &agreed_});
    return all;
  }
  Parts divided_state() override {
    Parts parts{{common_}, {}};
    for (const std::span<float> part : outer_.state()) parts.common.push_back(part);
    if (!controls_) return parts;
    parts.common.push_back(controls_->common());
    parts.own = controls_->own();
    return parts;
  }
  Coding coding() const override {
    Coding all = coder_.counted();
    if (deltas_) all.remembered_squared = deltas_->remembered_squared();
    return all;
  }

 private:
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

  void change_gradient() {
    const std::span<float> gradient = context_.learner.gradients();
    if (controls_) controls_->correct(gradient, averages_);
    if (proximal_ == 0) return;
    const std::span<const float> x = context_.learner.parameters();
    for (std::size_t i = 0; i < x.size(); ++i) gradient[i] += proximal_ * (x[i] - common_[i]);
  }

  float share() const {
    return static_cast<float>(options_.weighted ? context_.samples.weight(context_.me(), context_.nodes())
                                                : 1.0 / static_cast<double>(context_.nodes()));
  }

  // With a codec: of the deltas from the common model.
  void take_mean(std::span<float> x) {
    if (coded_)
      for (std::size_t i = 0; i < x.size(); ++i) x[i] -= common_[i];
    scale(x, share());
    if (!coded_) return all_reduce(context_.channel, x);
    deltas_->sum(x);
    add(x, common_);
  }

  void average() {
    const std::span<float> x = context_.learner.parameters();
    take_mean(x);
    if (controls_) {
      controls_->exchange(share(), coded_);
      controls_->commit();
    }
    agreed_ = 1;
    if (options_.has_outer()) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = common_[i] - x[i];
      outer_.step(common_, x);
      std::ranges::copy(common_, x.begin());
    } else if (!common_.empty()) {
      std::ranges::copy(x, common_.begin());
    }
  }

  StrategyContext context_;
  Coder coder_;
  const LocalSgdOptions options_;
  const float elastic_, proximal_;
  const AveragingTimes times_;
  std::optional<CodedSum> deltas_;         // none without a codec
  bool coded_ = false, averages_ = false;  // in this step
  std::uint64_t started_ = 0;
  std::uint64_t agreed_ = 0;  // all nodes know the common model
  // The model that all nodes have in common; empty if nothing uses it.
  std::vector<float> common_;
  OuterOptimizer outer_;
  std::optional<ControlVariates> controls_;  // none unless correction = "scaffold"
  std::vector<float> mean_;
};

std::optional<Refusal> refuses_codec_of_local_sgd(const CodecRequest& request) {
  const LocalSgdOptions options(request.options);
  const bool elastic = options.elastic > 0;
  if (!request.equal_start && (elastic || options.has_outer() || options.streams()))
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

std::optional<CommonState> common_state_of(const Options& section) {
  const LocalSgdOptions options(section);
  if (options.elastic > 0) return CommonState{"an elastic centre", "leave out strategy.elastic"};
  if (options.has_outer()) return CommonState{"an outer optimiser", "leave out strategy.outer"};
  if (options.scaffold) return CommonState{"control variates", "leave out strategy.correction"};
  if (options.proximal > 0) return CommonState{"a proximal term", "leave out strategy.proximal"};
  if (options.streams())
    return CommonState{"fragments", "leave out strategy.fragments, strategy.delay and strategy.blend"};
  return {};
}

// Between 0 and 1.
KeySpec fraction_key(std::string name, double fallback, std::string help, bool may_be_one = false) {
  KeySpec key = real_key(std::move(name), fallback, std::move(help));
  key.most = 1;
  key.below_most = !may_be_one;
  return key;
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
      choice_key("outer", {"none", "sgd", "momentum", "nesterov", "adam", "yogi"},
                 "outer optimiser of the mean"),
      {.name = "outer_lr",
       .kind = KeySpec::Kind::real,
       .fallback = {},
       .help = "rate of the outer optimiser; default: 0.7, of adam and yogi 0.01",
       .least = 0},
      fraction_key("outer_momentum", 0.9, "momentum of the outer optimiser; adam, yogi: beta1"),
      fraction_key("outer_beta2", 0.99, "outer adam, yogi"),
      {.name = "outer_epsilon",
       .kind = KeySpec::Kind::real,
       .fallback = Value{0.001},
       .help = "outer adam, yogi",
       .least = 0,
       .above_least = true},
      flag_key("weighted", false, "weight nodes by their samples"),
      real_key("proximal", 0, "mu of FedProx: adds mu (x - the last common model) to the gradient; 0: none"),
      choice_key("correction", {"none", "scaffold"},
                 "scaffold: control variates, which correct for nodes with different data"),
      whole_key("fragments", 1, "streaming: parts of the model, each averaged at its own time in the period"),
      whole_key("delay", 0, "streaming: steps between sending a fragment and using its average", 0),
      fraction_key("blend", 0, "streaming: share of its own value that a node keeps of a fragment", true),
      real_key("elastic", 0, "alpha of EASGD: a force towards a centre instead of the average; 0: none"),
      real_key("centre_rate", 0.4, "beta of EASGD: how fast the centre follows the mean"),
      choice_key("update", {"sync", "async"},
                 "async: exchange with a server at node 0 without waiting for other nodes")};
  info.shorthand = "period";
  info.pace = [](const Options& options) {
    return LocalSgdOptions(options).async ? Pace::async : Pace::in_step;
  };
  info.common_state = common_state_of;
  info.coded = {.exchange = CodedExchange::deltas, .refuses = refuses_codec_of_local_sgd};
  // The changes since a worker last asked would be lost.
  info.refuses_grid = [](const Options& options) -> std::optional<Refusal> {
    if (!LocalSgdOptions(options).async) return {};
    return Refusal{"the asynchronous form of strategy.name = \"local-sgd\"", "choose the one in step"};
  };
  info.make = [](StrategyContext context) -> std::unique_ptr<Strategy> {
    const LocalSgdOptions options(context.options);
    if (options.async) return make_async_local_sgd(std::move(context));
    if (options.streams()) return make_streaming_local_sgd(std::move(context));
    return std::make_unique<LocalSgd>(std::move(context));
  };
  return info;
}

}  // namespace veche
