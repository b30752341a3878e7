#include "veche/train/async/async_loop.h"

#include <algorithm>
#include <cstring>

#include "veche/comm/tags.h"
#include "veche/train/async/coordinator.h"
#include "veche/train/loop/measure.h"

namespace veche {
namespace {

constexpr Time kBetweenReports{0.01};
constexpr std::uint64_t kMostStepsBeforeReport = 1000;  // where time hardly passes
// A node that has no more steps to make waits for orders; now and then it checks whether somebody wants the
// run to end, which is no message.
constexpr Time kBetweenStopChecks{0.5};

class AsyncLoop {
 public:
  explicit AsyncLoop(Node& node) : node_(node), plan_(node.plan()) {}

  Evaluation run() {
    if (node_.first()) {
      // Shared, for it may still be at work when this node fails.
      node_.endpoint().spawn([coordinator = std::make_shared<Coordinator>(node_)] { coordinator->run(); });
    }
    const Order stop = train_until_told();
    const std::string stopped = stop.reason.data();
    barrier(node_.control());  // nobody makes a step any more
    node_.strategy().finish();
    if (node_.first()) await_coordinator();
    if (stopped == "interrupted") {
      barrier(node_.control());  // who finishes later may need the helpers of who finished first
      return interrupted_at(stop.step);
    }
    std::uint64_t all = 0;
    const Gathered<std::uint64_t> made(node_.control(), node_.step());
    for (const std::uint64_t steps : made.all()) all += steps;
    node_.set_mean_step(all / plan_.samples.trainers(node_.nodes()));
    const Evaluation last = node_.evaluate(stopped);
    node_.checkpoint(std::max(node_.mean_step(), node_.last_checkpoint() + 1));
    return last;
  }

 private:
  // Returns the order to stop.
  Order train_until_told() {
    const bool trainer = plan_.samples.has_data(node_.me());
    bool left = false;
    std::optional<Order> stop;
    tell({});
    while (!stop) {
      const bool trains = trainer && (plan_.shared_steps || node_.step() < plan_.steps);
      if (trains) node_.train_step();
      if (!trains && !left) node_.strategy().leave();  // others must not count on it
      const bool just_left = !trains && !left;
      left = left || !trains;
      if (just_left || node_.services().interrupted || node_.now() - told_ >= kBetweenReports ||
          node_.step() >= told_step_ + kMostStepsBeforeReport)
        tell({});
      stop = obey(trains ? node_.now() : node_.now() + kBetweenStopChecks);
    }
    if (!left) node_.strategy().leave();
    return *stop;
  }

  // Does what has been ordered until now, or waits for an order; returns the one to stop, if it came.
  std::optional<Order> obey(Time deadline) {
    for (;;) {
      const Received received = node_.endpoint().receive(NodeId{0}, tags::from_coordinator, deadline);
      if (received.outcome == Received::Outcome::peer_lost)
        throw PeerLost(NodeId{0}, "is gone: nobody counts the steps any more");
      if (received.outcome != Received::Outcome::message) return {};
      const Order& order = received.message.as<Order>().front();
      if (order.kind == Order::Kind::stop) return order;
      node_.set_mean_step(order.step);
      deadline = node_.now();
      if (order.kind == Order::Kind::snapshot) send_snapshot();
      if (order.kind == Order::Kind::save) {
        node_.save(order.step);
        tell({.kind = NodeMessage::Kind::saved});
      }
    }
  }

  void send_snapshot() {
    node_.check_parameters();
    Message message;
    node_.strategy().look_at_rest([&] {
      message = written({.kind = NodeMessage::Kind::snapshot, .report = node_.take_report()},
                        node_.learner().parameters(), node_.learner().buffers());
    });
    node_.endpoint().send(NodeId{0}, tags::to_coordinator, std::move(message));
  }

  void tell(NodeMessage what) {
    told_ = node_.now();
    told_step_ = node_.step();
    node_.endpoint().send(NodeId{0}, tags::to_coordinator, written(what, {}, {}));
  }

  Message written(NodeMessage what, std::span<const float> parameters, std::span<const float> buffers) {
    what.steps = node_.step();
    what.progress = node_.take_progress();
    Message message = node_.control().pool.make(parameters.size_bytes() + buffers.size_bytes() + sizeof what);
    const auto end = std::ranges::copy(parameters, message.writable<float>().begin()).out;
    std::ranges::copy(buffers, end);
    std::memcpy(message.writable<std::byte>().last(sizeof what).data(), &what, sizeof what);
    return message;
  }

  // It may still test a model or commit a checkpoint.
  void await_coordinator() {
    for (;;) {
      const Received received = node_.endpoint().receive(NodeId{0}, tags::from_coordinator, kForever);
      if (received.message.as<Order>().front().kind == Order::Kind::done) return;
    }
  }

  Node& node_;
  const TrainingPlan& plan_;
  Time told_{0};  // when the coordinator last heard of it
  std::uint64_t told_step_ = 0;
};

}  // namespace

Evaluation run_async(Node& node) { return AsyncLoop(node).run(); }

}  // namespace veche
