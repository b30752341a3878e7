#include "veche/base/vector_math.h"
#include "veche/train/strategies.h"

namespace veche {
namespace {

constexpr const char* kAdaptFirst = "adapt-then-combine";
constexpr const char* kCombineFirst = "combine-then-adapt";

// x_i <- sum_j w_ij x_j over the neighbours, every q steps, some rounds at a time. Combining before the step mixes the
// parameters at which the gradient was already taken: x <- Wx - lr g(x).
class Consensus : public Strategy {
 public:
  explicit Consensus(StrategyContext context)
      : context_(std::move(context)),
        every_(static_cast<std::uint64_t>(context_.options.get<std::int64_t>("every"))),
        rounds_(static_cast<std::uint64_t>(context_.options.get<std::int64_t>("rounds"))),
        combine_first_(context_.options.get<std::string>("order") == kCombineFirst) {}

  void after_backward(std::uint64_t step) override {
    if (combine_first_) mix_when_due(step);
  }
  void after_step(std::uint64_t step) override {
    if (!combine_first_) mix_when_due(step);
  }

 private:
  void mix_when_due(std::uint64_t step) {
    if ((step + 1) % every_ != 0) return;
    for (std::uint64_t round = 0; round < rounds_; ++round) mix(step / every_ * rounds_ + round);
  }

  void mix(std::uint64_t round) {
    Channel& channel = context_.channel;
    const int me = channel.me().value;
    const auto mixing = context_.topology->at(round);
    const std::span<float> x = context_.learner.parameters();

    // Neighbours read this copy in place while the parameters themselves are being overwritten.
    const Message mine = channel.pool.copy_of(std::span<const float>(x));
    for (const int reader : mixing->readers(me)) channel.send(NodeId{reader}, mine);

    messages_.clear();
    inputs_.clear();
    weights_.clear();
    for (const Weight& weight : mixing->row(me)) {
      messages_.push_back(weight.node == me ? mine : channel.expect(NodeId{weight.node}));
      inputs_.push_back(messages_.back().as<float>());
      weights_.push_back(static_cast<float>(weight.value));
    }
    weighted_sum(x, inputs_, weights_);
    messages_.clear();
  }

  StrategyContext context_;
  const std::uint64_t every_;
  const std::uint64_t rounds_;
  const bool combine_first_;
  // Scratch, kept between rounds so that mixing allocates nothing.
  std::vector<Message> messages_;
  std::vector<std::span<const float>> inputs_;
  std::vector<float> weights_;
};

}  // namespace

StrategyInfo consensus_strategy() {
  StrategyInfo info;
  info.name = "consensus";
  info.rule = "x_i <- sum_j w_ij x_j with the neighbours, after every q-th step";
  info.keys = {
      {.name = "every", .kind = KeySpec::Kind::whole, .fallback = Value{std::int64_t{1}},
       .help = "q: mix after every q-th step", .least = 1},
      {.name = "rounds", .kind = KeySpec::Kind::whole, .fallback = Value{std::int64_t{1}},
       .help = "mixing rounds at a time", .least = 1},
      {.name = "order", .kind = KeySpec::Kind::text, .fallback = Value{std::string(kAdaptFirst)},
       .help = "step first, then mix; or mix first, then step", .choices = {kAdaptFirst, kCombineFirst}},
  };
  info.uses_topology = true;
  info.make = [](StrategyContext context) { return std::make_unique<Consensus>(std::move(context)); };
  return info;
}

}  // namespace veche
