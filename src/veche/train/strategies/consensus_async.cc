#include <algorithm>
#include <optional>

#include "veche/packed.h"
#include "veche/train/compression/copies.h"
#include "veche/train/strategies/async_forms.h"
#include "veche/train/strategies/consensus_options.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// Children of the strategy's tag.
enum AsyncConsensusTalk : std::uint64_t { kModels = 0, kReceipts = 1 };

// x_i <- sum_j w_ij x_j with the newest parameters that each neighbour has sent, however old. The
// weight of a neighbour that has sent nothing, or nothing recent enough, stays with the node
// itself. A neighbour is sent new parameters only when it has taken the last ones, so that a slow
// node is not flooded. With a codec each neighbour is sent how the parameters have changed since,
// and copies are mixed: x_i += gamma sum_j w_ij (x^_j - x^_i), once for each change of either copy.
// One pull per step would add up without end while a neighbour is silent.
class AsyncConsensus : public Strategy, public MeasuredStrategy, public StartsAlone {
 public:
  AsyncConsensus(StrategyContext context, const ConsensusOptions& options)
      : context_(std::move(context)),
        coder_(context_),
        options_(options),
        newest_(context_.nodes()),
        taken_(context_.nodes(), true),
        changed_(context_.nodes()) {
    if (!coder_.on()) return;
    std::vector<NodeId> around;
    for (const int node : context_.topology->graph().neighbors(context_.channel.me().value))
      around.push_back(NodeId{node});
    copies_.emplace(coder_, models_, coder_.whole(true), around, around, Copies::Told::to_each);
  }

  void start_alone() override { alone_ = true; }

  void start() override {
    if (!copies_) return;
    alone_ ? copies_->start_apart() : copies_->start_with_all(context_.learner.parameters());
  }

  void after_step(std::uint64_t step) override {
    if (due(step, options_.every)) mix(step);
  }

  // No node sends any more: take the messages under way, so that no later user of the tags gets
  // them.
  void finish() override {
    for (Channel* channel : {&models_, &receipts_})
      while (channel->receive(now()).outcome != Received::Outcome::timed_out) {
      }
  }

  Staleness staleness() const override { return staleness_; }
  SavedState state() override {
    SavedState all;
    coder_.add_state(all);
    return all;
  }
  Coding coding() const override {
    Coding all = coder_.counted();
    if (copies_) all.remembered_squared = copies_->remembered_squared(context_.learner.parameters());
    return all;
  }

 private:
  struct Newest {
    Message parameters;
    std::uint64_t arrived = 0;  // at this node's step
    bool there = false;
  };

  Time now() const { return context_.channel.endpoint.now(); }

  void mix(std::uint64_t step) {
    collect(step);
    const auto mixing = context_.topology->at(step / options_.every);
    const int me = context_.channel.me().value;
    const std::span<float> x = context_.learner.parameters();
    const Message mine = copies_ ? Message{} : context_.channel.pool.copy_of(std::span<const float>(x));
    for (const int reader : mixing->readers(me)) {
      if (reader == me || !taken_[static_cast<std::size_t>(reader)]) continue;
      taken_[static_cast<std::size_t>(reader)] = false;
      changed_[static_cast<std::size_t>(reader)] = true;
      if (copies_)
        copies_->send(NodeId{reader}, copies_->encode(x, NodeId{reader}));
      else
        models_.send(NodeId{reader}, mine);
    }
    double own = 0;
    inputs_.assign(1, mine.as<float>());
    weights_.assign(1, 0.0F);
    pulls_.clear();
    for (const Weight& weight : mixing->row(me)) {
      const Newest& theirs = newest_[static_cast<std::size_t>(weight.node)];
      const std::uint64_t age = step - theirs.arrived;
      if (weight.node == me || !theirs.there || (options_.max_age != 0 && age > options_.max_age)) {
        own += weight.value;
        staleness_.dropped += weight.node != me && theirs.there ? 1 : 0;
        continue;
      }
      staleness_.note(age);
      if (copies_) {
        if (!changed_[static_cast<std::size_t>(weight.node)]) continue;
        changed_[static_cast<std::size_t>(weight.node)] = false;
        pulls_.push_back({copies_->of(NodeId{weight.node}), copies_->own(NodeId{weight.node}), weight.value});
        continue;
      }
      inputs_.push_back(theirs.parameters.as<float>());
      weights_.push_back(static_cast<float>(weight.value));
    }
    if (copies_) return move(x, coder_.how().gamma, pulls_);
    weights_.front() = static_cast<float>(own);
    weighted_sum(x, inputs_, weights_);
  }

  void collect(std::uint64_t step) {
    for (;;) {
      Received received = models_.receive(now());
      if (received.outcome == Received::Outcome::timed_out) break;
      if (received.outcome == Received::Outcome::peer_lost) continue;
      if (copies_)
        copies_->apply(received.from, received.message);
      else
        unpack_items<float>(received.message, context_.learner.parameters().size(),
                            context_.channel.endpoint.known_as(received.from), "a model");
      changed_[static_cast<std::size_t>(received.from.value)] = true;
      newest_[static_cast<std::size_t>(received.from.value)] = {std::move(received.message), step, true};
      receipts_.send(received.from, Message{});
    }
    for (;;) {
      const Received received = receipts_.receive(now());
      if (received.outcome == Received::Outcome::timed_out) break;
      if (received.outcome == Received::Outcome::message)
        taken_[static_cast<std::size_t>(received.from.value)] = true;
    }
  }

  StrategyContext context_;
  Coder coder_;
  Channel models_ = context_.channel.child(kModels);
  Channel receipts_ = context_.channel.child(kReceipts);
  std::optional<Copies> copies_;  // none without a codec
  std::vector<Pull> pulls_;
  bool alone_ = false;  // starts without waiting for the others
  const ConsensusOptions options_;
  std::vector<Newest> newest_;  // by node
  std::vector<bool> taken_;     // by node: it has read the last message
  std::vector<bool> changed_;   // by node: either copy has changed since the last pull
  Staleness staleness_;
  std::vector<std::span<const float>> inputs_;
  std::vector<float> weights_;
};

}  // namespace

std::unique_ptr<Strategy> make_async_consensus(StrategyContext context, const ConsensusOptions& options) {
  return std::make_unique<AsyncConsensus>(std::move(context), options);
}

}  // namespace veche
