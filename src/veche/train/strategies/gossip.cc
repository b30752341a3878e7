#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "veche/random.h"
#include "veche/train/compression/copies.h"
#include "veche/train/compression/power_edges.h"
#include "veche/train/strategies/async_forms.h"
#include "veche/train/strategies/gossip_options.h"
#include "veche/train/strategies/gossip_outer.h"
#include "veche/train/strategies/matching.h"
#include "veche/train/strategies/strategies.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// Every q steps, b random edges of the graph one after the other: both ends take their average.
// Every node draws the same edges from the seed and the step, so no message announces them.
class Gossip : public Strategy, public MeasuredStrategy {
 public:
  explicit Gossip(StrategyContext context)
      : context_(std::move(context)),
        coder_(context_),
        options_(context_.options),
        pairs_(options_.pairs_among(context_.topology->nodes())) {
    const auto edges = context_.topology->graph().edges();
    edges_.assign(edges.begin(), edges.end());
    if (coder_.on()) make_coded();
  }

  void start() override {
    if (copies_) copies_->start(context_.learner.parameters());
  }

  void after_step(std::uint64_t step) override {
    if (!due(step, options_.every)) return;
    coded_ = coder_.codes(step);
    RandomStream random(context_.seed, "gossip", step);
    if (!options_.disjoint) return draw_edges(random);
    for (const Edge& edge : draw_matching(random, edges_, pairs_, context_.nodes())) average(edge);
  }

  SavedState state() override {
    SavedState all;
    coder_.add_state(all);
    if (copies_) copies_->add_state(all);
    if (power_) power_->add_state(all);
    return all;
  }
  Coding coding() const override {
    Coding all = coder_.counted();
    if (copies_) all.remembered_squared = copies_->remembered_squared(context_.learner.parameters());
    return all;
  }

 private:
  void make_coded() {
    const int me = context_.channel.me().value;
    std::set<NodeId> others;
    for (const Edge& edge : edges_)
      if (edge.from == me || edge.to == me) others.insert(NodeId{edge.from == me ? edge.to : edge.from});
    const std::vector<NodeId> neighbours(others.begin(), others.end());
    if (coder_.how().spec.edges_only())
      power_.emplace(coder_, context_.channel, coder_.whole(true), neighbours);
    else
      copies_.emplace(coder_, context_.channel, coder_.whole(true), neighbours, neighbours,
                      Copies::Told::to_each);
  }

  // With replacement: edges may share a node. Then the order matters; it is the same on every node.
  void draw_edges(RandomStream& random) {
    for (std::int64_t k = 0; k < pairs_; ++k) average(edges_[random.below(edges_.size())]);
  }

  void average(const Edge& edge) {
    const int me = context_.channel.me().value;
    if (me != edge.from && me != edge.to) return;
    const NodeId other{me == edge.from ? edge.to : edge.from};
    const std::span<float> x = context_.learner.parameters();
    if (coded_) return average_coded(other, x);
    const Message mine = context_.channel.pool.copy_of(std::span<const float>(x));
    context_.channel.send(other, mine);
    const Message theirs = context_.channel.expect(other, mine.size());
    // The smaller id first, so that both ends get the same bits.
    const bool first = me < other.value;
    const std::array<std::span<const float>, 2> inputs{(first ? mine : theirs).as<float>(),
                                                       (first ? theirs : mine).as<float>()};
    constexpr std::array<float, 2> kHalves{0.5F, 0.5F};
    weighted_sum(x, inputs, kHalves);
    if (copies_) copies_->set_both(other, mine, theirs);
  }

  // Moves by gamma/2 of the difference of the edge's two copies, which are the same at both ends.
  void average_coded(NodeId other, std::span<float> x) {
    if (power_) {
      const PowerEdges::Edge edge{other, 0.5};
      return power_->mix({&edge, 1}, x);
    }
    copies_->send(other, copies_->encode(x, other));
    copies_->apply(other, context_.channel.expect(other));
    const Pull pull{copies_->of(other), copies_->own(other), 0.5};
    move(x, coder_.how().gamma, {&pull, 1});
  }

  StrategyContext context_;
  Coder coder_;
  std::optional<Copies> copies_;     // one pair per edge; or
  std::optional<PowerEdges> power_;  // this; neither without a codec
  bool coded_ = false;               // in this step
  const GossipOptions options_;
  const std::int64_t pairs_;
  std::vector<Edge> edges_;
};

std::optional<Refusal> refuses_codec_of_gossip(const CodecRequest& request) {
  if (!GossipOptions(request.options).outer) return {};
  return Refusal{"an outer step needs the pair's exact models, and pairs change",
                 "choose local-sgd with strategy.outer, or leave out strategy.outer"};
}

}  // namespace

StrategyInfo gossip_strategy() {
  StrategyInfo info;
  info.name = "gossip";
  info.rule = "every q steps b random edges (i,j): both <- (x_i + x_j)/2";
  info.keys = {
      every_key(),
      whole_key("pairs", 0, "b: edges at a time; 0: half the nodes", 0),
      choice_key("draw", {"edges", "matching"}, "edges that may share nodes, in turn; or disjoint ones"),
      flag_key("async", false, "AD-PSGD: train without pause, average with a random neighbour beside"),
      real_key("patience", 5, "async: seconds after which a neighbour that does not answer is skipped"),
      choice_key("outer", {"none", "nesterov"},
                 "nesterov: NoLoCo, disjoint pairs make an outer step with the pair's mean"),
      real_key("outer_lr", 0.7, "outer: rate"),
      real_key("outer_momentum", 0.5, "outer: momentum"),
      real_key("outer_pull", 1, "outer: how far a node moves to its pair's mean, above outer_momentum")};
  info.shorthand = "pairs";
  info.graph = StrategyInfo::Graph::undirected;
  info.pace = [](const Options& options) {
    return GossipOptions(options).async ? Pace::async : Pace::in_step;
  };
  info.coded = {.exchange = CodedExchange::copies,
                .edges = [](const Options&) { return true; },
                .refuses = refuses_codec_of_gossip};
  info.make = [](StrategyContext context) -> std::unique_ptr<Strategy> {
    const GossipOptions options(context.options);
    options.check();
    if (options.async) return make_async_gossip(std::move(context));
    if (options.outer) return make_outer_gossip(std::move(context));
    return std::make_unique<Gossip>(std::move(context));
  };
  return info;
}

}  // namespace veche
