#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "veche/errors.h"
#include "veche/train/compression/coded_mixer.h"
#include "veche/train/optim/optimizer.h"
#include "veche/train/strategies/async_forms.h"
#include "veche/train/strategies/consensus_options.h"
#include "veche/train/strategies/correction_passes.h"
#include "veche/train/strategies/mixer.h"
#include "veche/train/strategies/strategies.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// x_i <- sum_j w_ij x_j over the neighbours, every q steps, some rounds at a time. Combining before
// the step mixes the parameters at which the gradient was already computed: x <- Wx - lr g(x).
class Consensus : public Strategy, public InPlaceStep, public MeasuredStrategy {
 public:
  Consensus(StrategyContext context, const ConsensusOptions& options)
      : context_(std::move(context)),
        coder_(context_),
        mixer_(context_.channel, context_.topology->period() == 1),
        options_(options) {
    vectors_.push_back(context_.learner.parameters());
    if (coder_.on()) add_coded();
    if (options_.mix_buffers) vectors_.push_back(context_.learner.buffers());
    if (options_.mix_moments)
      for (const auto& part : context_.optimizer.state()) vectors_.push_back(part);
  }

  void start() override {
    for (std::size_t i = 0; i < coded_.size(); ++i) coded_[i].start(vectors_[i]);
  }

  Gradient after_backward(std::uint64_t step) override {
    if (options_.combine_first) mix_when_due(step);
    return Gradient::own;
  }
  // The optimiser writes the new parameters where the neighbours will read them.
  std::span<float> step_target(std::uint64_t step) override {
    if (options_.combine_first || vectors_.size() != 1 || coder_.on() ||
        !due(step, every(context_.channel.me().value)))
      return {};
    of_round_ = mixing(step, 0);
    round_.emplace(mixer_.begin(*of_round_, vectors_.front().size(), active(step)));
    return round_->mine();
  }
  void after_step(std::uint64_t step) override {
    if (!options_.combine_first) mix_when_due(step);
  }

  SavedState state() override {
    SavedState all;
    coder_.add_state(all);
    for (CodedMixer& mixer : coded_) mixer.add_state(all);
    return all;
  }
  Coding coding() const override {
    Coding all = coder_.counted();
    for (std::size_t i = 0; i < coded_.size(); ++i)
      all.remembered_squared += coded_[i].remembered_squared(vectors_[i]);
    return all;
  }

 protected:
  // For the next vector; all vectors before it must be coded, too.
  void add_coded() { coded_.emplace_back(coder_, context_.channel, *context_.topology); }
  void mix(const Mixing& mixing, std::uint64_t step, const Mixer::Active& active = {}) {
    const bool floats = coder_.on() && !coder_.codes(step);
    const std::span<const std::span<float>> vectors = vectors_;
    for (std::size_t i = 0; i < coded_.size(); ++i) {
      if (floats && !coded_[i].keeps_copies())
        mixer_.mix(mixing, vectors.subspan(i, 1), active);
      else
        coded_[i].mix(mixing, vectors_[i], floats, active);
    }
    // The remaining vectors are short, or there is no codec.
    if (coded_.size() < vectors.size()) mixer_.mix(mixing, vectors.subspan(coded_.size()), active);
  }
  std::uint64_t every(int node) const {
    return context_.mix_every.empty() ? options_.every : context_.mix_every[static_cast<std::size_t>(node)];
  }

  void mix_when_due(std::uint64_t step) {
    for (std::uint64_t round = 0; round < options_.rounds; ++round) {
      if (!round_) {
        mix(*mixing(step, round), step, active(step));
        continue;
      }
      round_->finish(vectors_);
      round_.reset();
    }
  }
  std::shared_ptr<const Mixing> mixing(std::uint64_t step, std::uint64_t round) const {
    return context_.topology->at(step / options_.every * options_.rounds + round);
  }
  Mixer::Active active(std::uint64_t step) const {
    return [this, step](int node) { return due(step, every(node)); };
  }

  StrategyContext context_;
  Coder coder_;
  std::deque<CodedMixer> coded_;  // for the first of the vectors; empty without a codec
  Mixer mixer_;
  const ConsensusOptions options_;
  std::vector<std::span<float>> vectors_;   // that are mixed
  std::shared_ptr<const Mixing> of_round_;  // that round_ refers to
  std::optional<Mixer::Round> round_;       // that the optimiser has written into
};

// Every node follows an estimate y of the mean gradient over all nodes instead of its own: y <- Wy
// + g(x+) - g(x), x <- Wx - lr y. Nodes with different data then agree on the common optimum.
class GradientTracking : public Consensus {
 public:
  GradientTracking(StrategyContext context, const ConsensusOptions& options)
      : Consensus(std::move(context), options),
        tracked_(context_.learner.parameters().size()),
        previous_(context_.learner.parameters().size()) {
    if (!coder_.on()) {
      vectors_.emplace_back(tracked_);
      return;
    }
    vectors_.insert(vectors_.begin() + 1, std::span<float>(tracked_));
    add_coded();
  }

  Gradient after_backward(std::uint64_t step) override {
    const std::span<float> gradient = context_.learner.gradients();
    mix(*context_.topology->at(step), step);  // x <- Wx, y <- Wy; y is zero before the first step
    for (std::size_t i = 0; i < tracked_.size(); ++i) {
      tracked_[i] += gradient[i] - previous_[i];
      previous_[i] = gradient[i];
      gradient[i] = tracked_[i];
    }
    return Gradient::own;
  }
  std::span<float> step_target(std::uint64_t /*step*/) override { return {}; }
  void after_step(std::uint64_t /*step*/) override {}

  SavedState state() override {
    SavedState all{{tracked_, previous_}, {}};
    append(all, Consensus::state());
    return all;
  }

 private:
  std::vector<float> tracked_, previous_;
};

// D2: x_{k+1} = W~ (2 x_k - x_{k-1} + u_k - u_{k-1}) with u the optimiser's updates and W~ =
// (I+W)/2, whose eigenvalues are positive, as the method needs. With z_k = x_k + u_k, the
// optimiser's result, and a correction c this is
//   y_k = z_k + c_k,  x_{k+1} = W~ y_k,  c_{k+1} = c_k + (W~ - I) y_k,  c_0 = 0.
// The sum of c over nodes is zero. Computed from the parameters (c_k = x_k - z_{k-1}) it would
// collect the rounding of every mixing, and the mean of the models would drift away faster and
// faster. The rounding of x itself would add up only once: the next mixing includes it.
class D2 : public Consensus, public ReadsOlderState {
 public:
  D2(StrategyContext context, const ConsensusOptions& options)
      : Consensus(std::move(context), options),
        high_(context_.learner.parameters().size()),
        low_(context_.learner.parameters().size()),
        rest_(context_.learner.parameters().size()) {}

  Gradient after_backward(std::uint64_t /*step*/) override { return Gradient::own; }
  std::span<float> step_target(std::uint64_t /*step*/) override { return {}; }
  void after_step(std::uint64_t step) override {
    const auto mixing = context_.topology->at(step);
    if (mixing != of_) {
      lazy_.emplace(lazy(*mixing));
      of_ = mixing;
    }
    const std::span<float> x = context_.learner.parameters();
    Mixer::Round round = mixer_.begin(*lazy_, x.size());
    add_correction(round.mine(), x, {high_, low_, rest_});
    round.finish([&](std::span<const std::span<const float>> sent) { mix_corrected(x, sent); });
    const auto rest = std::span(vectors_).subspan(1);
    if (std::ranges::any_of(rest, [](std::span<float> each) { return !each.empty(); }))
      mixer_.mix(*lazy_, rest);
  }

  SavedState state() override { return {{high_, low_, rest_}, {}}; }
  // An earlier version saved z of the previous step, and whether there was one.
  SavedState older_state() override {
    older_.resize(high_.size());
    return {{older_}, {&begun_}};
  }
  void take_older_state() override {
    const std::span<const float> x = context_.learner.parameters();
    for (std::size_t i = 0; begun_ != 0 && i < x.size(); ++i) {
      const double change = static_cast<double>(x[i]) - static_cast<double>(older_[i]);
      high_[i] = static_cast<float>(change);
      low_[i] = static_cast<float>(change - static_cast<double>(high_[i]));
    }
    older_ = {};
  }

 private:
  void mix_corrected(std::span<float> x, std::span<const std::span<const float>> sent) {
    const int me = context_.channel.me().value;
    std::span<const float> mine;
    neighbours_.clear();
    weights_.clear();
    std::size_t place = 0;
    for (const Weight& weight : lazy_->row(me)) {
      const std::span<const float> y = sent[place++];
      if (weight.node == me) {
        mine = y;
        continue;
      }
      neighbours_.push_back(y);
      weights_.push_back(weight.value);
    }
    mix_with_flow(x, {high_, low_, rest_}, mine, neighbours_, weights_);
  }

  static Mixing lazy(const Mixing& mixing) {
    std::vector<std::vector<Weight>> rows(static_cast<std::size_t>(mixing.nodes()));
    for (int node = 0; node < mixing.nodes(); ++node)
      for (const Weight& weight : mixing.row(node))
        rows[static_cast<std::size_t>(node)].push_back(
            {weight.node, (weight.value + (weight.node == node ? 1 : 0)) / 2});
    return Mixing(std::move(rows));
  }

  std::vector<float> high_, low_;     // the correction
  std::vector<float> rest_;           // rounding error of x
  std::shared_ptr<const Mixing> of_;  // the weights that lazy_ was made from
  std::optional<Mixing> lazy_;
  std::vector<std::span<const float>> neighbours_;  // scratch
  std::vector<double> weights_;
  std::vector<float> older_;
  std::uint64_t begun_ = 0;
};

std::optional<Refusal> refuses_codec(const CodecRequest& request) {
  const ConsensusOptions options(request.options);
  if (options.correction == ConsensusOptions::Correction::d2)
    return Refusal{"d2 subtracts what the last mixing made, and copies that lag behind make it diverge",
                   "choose strategy.correction = \"gradient-tracking\""};
  if (options.mix_moments)
    return Refusal{"second moments that are mixed by copies may become negative",
                   "choose strategy.momentum = \"local\""};
  if (!request.async && !request.equal_nodes && !request.fixed_graph)
    return Refusal{"nodes that mix at different steps need neighbours that stay, to keep copies of",
                   "choose a fixed topology.graph, or leave out cluster.mix_every"};
  return {};
}

std::unique_ptr<Strategy> make_consensus(StrategyContext context) {
  const ConsensusOptions options(context.options);
  if (options.async) {
    if (options.has_correction() || options.rounds != 1 || !context.mix_every.empty())
      throw RequestError(
          "strategy.async = true mixes once at a time, with what is there: leave out strategy.correction, "
          "strategy.rounds and cluster.mix_every");
    return make_async_consensus(std::move(context), options);
  }
  if (!options.has_correction()) return std::make_unique<Consensus>(std::move(context), options);
  if (options.every != 1 || options.rounds != 1 || !context.mix_every.empty())
    throw RequestError(
        "strategy.correction = \"" + context.options.get<std::string>("correction") +
        "\" mixes once after every step: leave out strategy.every, strategy.rounds and cluster.mix_every");
  if (options.correction == ConsensusOptions::Correction::tracking)
    return std::make_unique<GradientTracking>(std::move(context), options);
  return std::make_unique<D2>(std::move(context), options);
}

}  // namespace

StrategyInfo consensus_strategy() {
  StrategyInfo info;
  info.name = "consensus";
  info.rule = "x_i <- sum_j w_ij x_j with the neighbours, after every q-th step";
  info.keys = {every_key(),
               whole_key("rounds", 1, "mixing rounds at a time"),
               choice_key("order", {ConsensusOptions::kAdaptFirst, ConsensusOptions::kCombineFirst},
                          "step first, then mix; or mix first, then step"),
               choice_key("correction", {"none", ConsensusOptions::kTracking, ConsensusOptions::kD2},
                          "for data that differ between nodes"),
               choice_key("momentum", {"local", "tracked"}, "tracked: the optimiser's state is mixed too"),
               flag_key("mix_buffers", false, "mix batch-norm statistics too"),
               flag_key("async", false, "mix with the neighbours' newest parameters and never wait"),
               whole_key("max_age", 10,
                         "async: own steps after which a neighbour's parameters are left out; 0: never", 0)};
  info.shorthand = "every";
  info.graph = StrategyInfo::Graph::undirected;
  info.pace = [](const Options& options) {
    return ConsensusOptions(options).async ? Pace::async : Pace::in_step;
  };
  info.coded = {.exchange = CodedExchange::copies,
                .edges = [](const Options& options) { return !ConsensusOptions(options).has_correction(); },
                .edges_need = "no strategy.correction",
                .refuses = refuses_codec};
  info.make = make_consensus;
  return info;
}

}  // namespace veche
