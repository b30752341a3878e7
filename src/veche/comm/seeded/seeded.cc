#include "veche/comm/seeded/seeded.h"

#include <fmt/format.h>

#include <algorithm>

#include "veche/comm/seeded/nodes.h"

namespace veche {
namespace {

class SeededEndpoint : public Endpoint {
 public:
  SeededEndpoint(std::shared_ptr<SeededNodes> nodes, NodeId id)
      : Endpoint({id, nodes->size()}), nodes_(std::move(nodes)), mine_((*nodes_)[id]) {}
  ~SeededEndpoint() override { mine_.alive = false; }

  void send(NodeId to, Tag tag, Message message) override {
    nodes_->check(id());
    SeededNodes::One& peer = (*nodes_)[to];
    if (peer.alive) {
      count_sent({message.size(), 1});
      RandomStream& random = scheduler().random();
      const Time delay = random.below(2) == 0 ? Time(0) : random.uniform() * nodes_->options.longest_delay;
      peer.in_flight.put(id(), tag, std::move(message), now() + delay);
    }
    scheduler().pass();
  }

  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    if (from) (*nodes_)[*from];  // refuses ids out of range
    const auto lost = [this](NodeId peer) { return peer != id() && !alive(peer); };
    nodes_->wait(
        id(), [&] { return std::min(deadline, mine_.in_flight.due(from, tag, lost, size())); },
        [&] {
          return fmt::format(
              "{} from {}, {}", name_of(tag), from ? fmt::format("node {}", from->value) : "anyone",
              deadline >= kForever / 2 ? "for ever" : fmt::format("until {:.6f} s", deadline.count()));
        });
    if (auto there = mine_.in_flight.take(from, tag, lost, size(), now(), scheduler().random()))
      return std::move(*there);
    return {Received::Outcome::timed_out, from.value_or(id()), {}};
  }

  Time now() const override { return nodes_->scheduler.now(); }
  bool alive(NodeId peer) const override { return (*nodes_)[peer].alive; }

  void spawn(std::function<void()> helper) override {
    nodes_->check(id());
    nodes_->spawn(id(), std::move(helper));
    scheduler().pass();
  }

  // The work is done at once and then takes virtual time, while other tasks run.
  Time compute(const Work& /*what*/, const std::function<void()>& work) override {
    nodes_->check(id());
    work();
    const Time took = (0.5 + scheduler().random().uniform()) * mine_.slowness * nodes_->options.pass;
    const Time until = now() + took;
    nodes_->wait(
        id(), [&] { return until; }, [] { return std::string("its own computing"); });
    return took;
  }

 private:
  Scheduler& scheduler() { return nodes_->scheduler; }

  const std::shared_ptr<SeededNodes> nodes_;
  SeededNodes::One& mine_;
};

}  // namespace

SeededCluster::SeededCluster(int nodes, const SeededOptions& options)
    : nodes_(std::make_shared<SeededNodes>(nodes, options)) {}

std::vector<NodeId> SeededCluster::here() const {
  std::vector<NodeId> all;
  for (int i = 0; i < nodes_->size(); ++i) all.push_back(NodeId{i});
  return all;
}

std::unique_ptr<Endpoint> SeededCluster::endpoint(NodeId node) {
  return std::make_unique<SeededEndpoint>(nodes_, node);
}

void SeededCluster::run(const std::function<void(NodeId)>& body) { nodes_->run(body); }

}  // namespace veche
