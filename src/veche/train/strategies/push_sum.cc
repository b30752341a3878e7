#include <algorithm>

#include "veche/train/strategies/common_keys.h"
#include "veche/train/strategies/strategies.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// On one-way edges nobody can keep the average by symmetric weights. Every node cuts what it has, vector and
// weight, into equal parts for itself and those it sends to, and adds up what arrives; vector / weight is the
// model. Both sums over all nodes never change, so all models tend to the average. The optimiser's update is
// applied to the vector.
class PushSum : public Strategy {
 public:
  explicit PushSum(StrategyContext context)
      : context_(std::move(context)),
        every_(static_cast<std::uint64_t>(context_.options.get<std::int64_t>("every"))),
        vector_(context_.learner.parameters().begin(), context_.learner.parameters().end()),
        before_(vector_.size()) {
    const Graph& graph = context_.topology->graph();
    const int me = context_.channel.me().value;
    for (const int target : graph.neighbors(me)) targets_.push_back(NodeId{target});
    for (int node = 0; node < graph.nodes(); ++node)
      for (const int target : graph.neighbors(node))
        if (target == me) sources_.push_back(NodeId{node});
  }

  Gradient after_backward(std::uint64_t /*step*/) override {
    std::ranges::copy(context_.learner.parameters(), before_.begin());
    return Gradient::own;
  }

  void after_step(std::uint64_t step) override {
    const std::span<float> x = context_.learner.parameters();
    for (std::size_t i = 0; i < x.size(); ++i) vector_[i] += x[i] - before_[i];
    if (due(step, every_)) push();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = vector_[i] / weight_;
  }

  SavedState state() override { return {{vector_, std::span(&weight_, 1)}, {}}; }

 private:
  void push() {
    const float part = 1.0F / static_cast<float>(targets_.size() + 1);
    scale(vector_, part);
    weight_ *= part;
    Message message = context_.channel.pool.make((vector_.size() + 1) * sizeof(float));
    const auto items = message.writable<float>();
    std::ranges::copy(vector_, items.begin());
    items.back() = weight_;
    for (const NodeId target : targets_) context_.channel.send(target, message);
    for (const NodeId source : sources_) {  // by node, so that sums repeat to the bit
      const Message arrived = context_.channel.expect(source);
      const std::span<const float> theirs = arrived.as<float>();
      add(vector_, theirs.first(vector_.size()));
      weight_ += theirs.back();
    }
  }

  StrategyContext context_;
  const std::uint64_t every_;
  std::vector<NodeId> targets_, sources_;
  std::vector<float> vector_, before_;
  float weight_ = 1;
};

}  // namespace

StrategyInfo push_sum_strategy() {
  StrategyInfo info;
  info.name = "push-sum";
  info.rule = "directed graphs: vectors and weights are pushed along the edges, x/w is the model";
  info.keys = {every_key()};
  info.shorthand = "every";
  info.graph = StrategyInfo::Graph::directed;
  info.make = [](StrategyContext context) { return std::make_unique<PushSum>(std::move(context)); };
  return info;
}

}  // namespace veche
