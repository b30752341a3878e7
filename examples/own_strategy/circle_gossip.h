// A coded and asynchronous strategy of one's own. Nodes stand on a circle. After every `every`
// steps a node sends its parameters to both neighbours, and moves a third of the way towards what
// each of them has sent. It never waits: a neighbour is sent new parameters only when it has taken
// the last ones. With compress.codec neighbours keep copies of each other's parameters, and
// messages are codes of the changes.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "veche/veche.h"

class CircleGossip : public veche::Strategy, public veche::MeasuredStrategy, public veche::StartsAlone {
 public:
  explicit CircleGossip(veche::StrategyContext context)
      : context_(std::move(context)),
        every_(static_cast<std::uint64_t>(context_.options.get<int>("every"))),
        compressor_(context_) {
    const int me = context_.channel.me().value, nodes = context_.channel.size();
    for (const int node : {(me + 1) % nodes, (me + nodes - 1) % nodes})
      if (node != me) neighbours_[veche::NodeId{node}] = {};
    std::vector<veche::NodeId> neighbours;
    for (const auto& [node, neighbour] : neighbours_) neighbours.push_back(node);
    if (compressor_.on()) copies_.emplace(compressor_, models_, neighbours);
  }

  void start_alone() override { alone_ = true; }  // on the grid, before start()
  void start() override {
    if (copies_) alone_ ? copies_->start_alone() : copies_->start_async(context_.learner.parameters());
  }

  void after_step(std::uint64_t step) override {
    if ((step + 1) % every_ != 0) return;
    const std::span<float> x = context_.learner.parameters();
    while (const auto received = next(models_)) {
      take(received->from, received->message, x);
      receipts_.send(received->from, {});
    }
    while (const auto received = next(receipts_)) neighbours_[received->from].ready = true;
    for (auto& [node, neighbour] : neighbours_) {
      if (std::exchange(neighbour.ready, false)) send(node, x);
      // After sending, so that both copies are new: a pull by old copies overshoots.
      if (copies_ && neighbour.heard && std::exchange(neighbour.changed, false))
        copies_->pull(x, node, 1.0 / 3);
    }
  }

  // Nobody sends any more: take what is under way.
  void finish() override {
    for (veche::Channel* channel : {&models_, &receipts_})
      while (next(*channel)) {
      }
  }

  veche::Coding coding() const override {
    veche::Coding coding = compressor_.coding();
    if (copies_) coding.remembered_squared = copies_->remembered_squared(context_.learner.parameters());
    return coding;
  }

 private:
  // A message that has come; none: there is no more.
  static std::optional<veche::Received> next(veche::Channel& channel) {
    for (;;) {
      veche::Received received = channel.receive(channel.endpoint.now());
      if (received.outcome == veche::Received::Outcome::message) return received;
      if (received.outcome == veche::Received::Outcome::timed_out) return {};
    }
  }

  void take(veche::NodeId from, const veche::Message& message, std::span<float> x) {
    if (copies_) {
      copies_->receive(from, message);
      neighbours_[from].heard = neighbours_[from].changed = true;
      return;
    }
    const std::span<const float> theirs = message.as<float>();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += (theirs[i] - x[i]) / 3;
  }

  void send(veche::NodeId to, std::span<const float> x) {
    if (!copies_) return models_.send(to, models_.pool.copy_of(x));
    copies_->send(to, x);
    neighbours_[to].changed = true;
  }

  struct Neighbour {
    bool ready = true;     // it has taken the last parameters
    bool heard = false;    // it has sent its own
    bool changed = false;  // a copy has changed since the last pull
  };

  veche::StrategyContext context_;
  const std::uint64_t every_;
  veche::Compressor compressor_;
  veche::Channel models_ = context_.channel.child(0), receipts_ = context_.channel.child(1);
  std::optional<veche::ModelCopies> copies_;  // none without a codec
  std::map<veche::NodeId, Neighbour> neighbours_;
  bool alone_ = false;
};

inline veche::StrategyInfo circle_gossip() {
  veche::StrategyInfo info;
  info.name = "circle-gossip";
  info.rule = "x_i moves a third of the way to what its neighbours on a circle have sent";
  info.keys = {veche::whole_key("every", 1, "steps between exchanges")};
  info.pace = [](const veche::Options&) { return veche::Pace::async; };
  info.coded.exchange = veche::CodedExchange::copies;
  info.make = [](veche::StrategyContext context) {
    return std::make_unique<CircleGossip>(std::move(context));
  };
  return info;
}
