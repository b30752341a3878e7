#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "veche/packed.h"
#include "veche/train/compression/copies.h"
#include "veche/train/strategies/common_keys.h"
#include "veche/train/strategies/strategies.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// On one-way edges symmetric weights cannot keep the average. Every node divides its vector and its
// weight into equal parts for itself and its targets, and adds up the parts that arrive; vector /
// weight is the model. The sums of vectors and of weights over all nodes never change, so all
// models tend to the average. The optimiser's update is applied to the vector.
class PushSum : public Strategy, public MeasuredStrategy {
 public:
  explicit PushSum(StrategyContext context)
      : context_(std::move(context)),
        coder_(context_),
        every_(every_in(context_.options)),
        vector_(context_.learner.parameters().begin(), context_.learner.parameters().end()),
        before_(vector_.size()) {
    const Graph& graph = context_.topology->graph();
    const int me = context_.channel.me().value;
    for (const int target : graph.neighbors(me)) targets_.push_back(NodeId{target});
    for (int node = 0; node < graph.nodes(); ++node)
      for (const int target : graph.neighbors(node))
        if (target == me) sources_.push_back(NodeId{node});
    if (coder_.on())
      copies_.emplace(coder_, context_.channel, coder_.whole(true), sources_, targets_, Copies::Told::to_all);
  }

  void start() override {
    if (copies_) copies_->start(vector_);
  }

  Gradient after_backward(std::uint64_t /*step*/) override {
    std::ranges::copy(context_.learner.parameters(), before_.begin());
    return Gradient::own;
  }

  void after_step(std::uint64_t step) override {
    const std::span<float> x = context_.learner.parameters();
    for (std::size_t i = 0; i < x.size(); ++i) vector_[i] += x[i] - before_[i];
    if (due(step, every_)) copies_ ? push_coded(!coder_.codes(step)) : push();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = vector_[i] / weight_;
  }

  SavedState state() override {
    SavedState all{{vector_, std::span(&weight_, 1)}, {}};
    coder_.add_state(all);
    if (copies_) copies_->add_state(all);
    return all;
  }
  Coding coding() const override {
    Coding all = coder_.counted();
    if (copies_) all.remembered_squared = copies_->remembered_squared(vector_);
    return all;
  }

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
    for (const NodeId source : sources_) {  // in the order of nodes, so that sums repeat to the bit
      const Message arrived = context_.channel.expect(source, message.size());
      const std::span<const float> theirs = arrived.as<float>();
      add(vector_, theirs.first(vector_.size()));
      weight_ += theirs.back();
    }
  }

  // The same with copies x^ of the vectors: x_i += gamma (sum_j a_ij x^_j - x^_i), where a_ij is
  // the part that j gives to i, and the same for the weights, which are sent as floats. The columns
  // of a sum to one, so both sums are kept. A message is a code followed by the weight and the
  // part.
  void push_coded(bool floats) {
    const std::array<float, 2> mine = {weight_, 1.0F / static_cast<float>(targets_.size() + 1)};
    const Message told = floats ? copies_->encode_full(vector_) : copies_->encode(vector_);
    const Message message = pack_with_trailer(context_.channel.pool, told.bytes(), mine);
    for (const NodeId target : targets_) copies_->send(target, message);
    const double gamma = floats ? 1 : coder_.how().gamma;
    double change = (mine[1] - 1) * mine[0];
    std::vector<Pull> pulls{{{}, copies_->own(), 1 - mine[1]}};
    for (const NodeId source : sources_) {
      const Message arrived = context_.channel.expect(source);
      const auto [theirs, payload] = unpack_with_trailer<std::array<float, 2>>(
          arrived, known_as(source), "a code with a weight and a part");
      const std::size_t code = payload.size();
      if (!(theirs[0] > 0 && theirs[1] > 0 && theirs[1] <= 1 && std::isfinite(theirs[0])))
        blame(known_as(source), DamagedCode("a weight or a part that cannot be"));
      floats ? copies_->apply_full(source, arrived.first(code)) : copies_->apply(source, arrived.first(code));
      pulls.push_back({copies_->of(source), {}, theirs[1]});
      change += theirs[1] * theirs[0];
    }
    move(vector_, gamma, pulls);
    weight_ += static_cast<float>(gamma * change);
  }

  NodeId known_as(NodeId peer) const { return context_.channel.endpoint.known_as(peer); }

  StrategyContext context_;
  Coder coder_;
  std::optional<Copies> copies_;  // none without a codec
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
  info.coded.exchange = CodedExchange::copies;
  info.make = [](StrategyContext context) { return std::make_unique<PushSum>(std::move(context)); };
  return info;
}

}  // namespace veche
