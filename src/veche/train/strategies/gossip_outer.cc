#include "veche/train/strategies/gossip_outer.h"

#include <algorithm>
#include <optional>

#include "veche/errors.h"
#include "veche/packed.h"
#include "veche/train/strategies/gossip_options.h"
#include "veche/train/strategies/matching.h"

namespace veche {
namespace {

// NoLoCo (Kolehmainen et al. 2025): no node ever waits for more than one other. A node has slow
// weights f beside its model x, which begins at f and trains for q steps. Then random pairs
// exchange f and s = f - x, and with the means over the pair
//   d <- momentum d - rate mean(s) - pull (f - mean(f));  f <- f + d;  x <- f
// The last term draws the nodes' slow weights together. A node without a pair has its own means.
class OuterGossip : public Strategy, public DividedState {
 public:
  explicit OuterGossip(StrategyContext context)
      : context_(std::move(context)),
        options_(context_.options),
        slow_(context_.learner.parameters().begin(), context_.learner.parameters().end()),
        velocity_(slow_.size()),
        slope_(slow_.size()) {
    const auto edges = context_.topology->graph().edges();
    edges_.assign(edges.begin(), edges.end());
  }

  void after_step(std::uint64_t step) override {
    if (!due(step, options_.every)) return;
    const std::span<const float> x = context_.learner.parameters();
    for (std::size_t i = 0; i < x.size(); ++i) slope_[i] = slow_[i] - x[i];
    RandomStream random(context_.seed, "gossip", step);
    const int me = context_.channel.me().value;
    const std::int64_t pairs = options_.pairs_among(context_.topology->nodes());
    std::optional<NodeId> other;
    for (const Edge& edge : draw_matching(random, edges_, pairs, context_.nodes()))
      if (edge.from == me || edge.to == me) other = NodeId{edge.from == me ? edge.to : edge.from};
    other ? step_with(*other) : step_by(slope_, slow_);
    std::ranges::copy(slow_, context_.learner.parameters().begin());
  }

  SavedState state() override { return {{slow_, velocity_}, {}}; }
  Parts divided_state() override { return {{}, {slow_, velocity_}}; }

 private:
  void step_with(NodeId other) {
    Channel& channel = context_.channel;
    const Message mine = pack_bytes(channel.pool, {std::as_bytes(std::span<const float>(slope_)),
                                                   std::as_bytes(std::span<const float>(slow_))});
    channel.send(other, mine);
    const Message theirs = channel.expect(other, mine.size());
    const std::span<const float> slope = theirs.as<float>().first(slow_.size());
    const std::span<const float> slow = theirs.as<float>().last(slow_.size());
    // A sum of two is the same bits at both ends.
    mean_.resize(slow_.size());
    for (std::size_t i = 0; i < slow_.size(); ++i) {
      slope_[i] = (slope_[i] + slope[i]) / 2;
      mean_[i] = (slow_[i] + slow[i]) / 2;
    }
    step_by(slope_, mean_);
  }

  void step_by(std::span<const float> slope, std::span<const float> mean) {
    for (std::size_t i = 0; i < slow_.size(); ++i) {
      velocity_[i] = options_.outer_momentum * velocity_[i] - options_.outer_rate * slope[i] -
                     options_.outer_pull * (slow_[i] - mean[i]);
      slow_[i] += velocity_[i];
    }
  }

  StrategyContext context_;
  const GossipOptions options_;
  std::vector<Edge> edges_;
  std::vector<float> slow_, velocity_;
  std::vector<float> slope_, mean_;
};

}  // namespace

std::unique_ptr<Strategy> make_outer_gossip(StrategyContext context) {
  const GossipOptions options(context.options);
  if (options.outer_pull <= options.outer_momentum || options.outer_pull >= 2 + options.outer_momentum)
    throw RequestError(
        "strategy.outer_pull must be above strategy.outer_momentum and below 2 + strategy.outer_momentum, or "
        "the nodes' models move apart: choose 1");
  return std::make_unique<OuterGossip>(std::move(context));
}

}  // namespace veche
