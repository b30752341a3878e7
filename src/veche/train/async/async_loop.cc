#include "veche/train/async/async_loop.h"

#include <algorithm>
#include <cstring>

#include "veche/comm/sleep.h"
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
    const std::optional<Order> told = leads() ? train_until_told() : follow();
    if (!told) return interrupted_at(node_.step());
    const Order& stop = *told;
    const StopReason stopped = parse_stop_reason(stop.reason).value();
    barrier(node_.control());  // nobody makes a step any more
    node_.strategy().finish();
    if (node_.first()) await_coordinator();
    if (stopped == StopReason::interrupted) {
      barrier(node_.control());  // who finishes later may need the helpers of who finished first
      return interrupted_at(stop.step);
    }
    std::uint64_t all = 0;
    const Gathered<std::uint64_t> made(node_.control(), node_.step());
    for (const std::uint64_t steps : made.all()) all += steps;
    all /= static_cast<std::uint64_t>(node_.stages());  // of one replica all make the same
    node_.set_mean_step(all / plan_.samples.trainers(node_.replicas()));
    const Evaluation last = node_.evaluate(stopped);
    node_.checkpoint(std::max(node_.mean_step(), node_.last_checkpoint() + 1));
    return last;
  }

 private:
  // What a first stage tells the others of its replica.
  struct Word {
    enum class Kind { train, leave, progress, snapshot, save, stop } kind = Kind::train;
    Order order = {};  // what it was told itself
  };
  bool leads() const { return node_.pipeline() == nullptr || node_.pipeline()->first(); }
  void say(const Word& word) {
    if (node_.stages() > 1) node_.pipeline()->say(node_.control().pool.copy_of_item(word));
  }

  // A stage behind the first: returns the order to stop.
  Order follow() {
    for (;;) {
      const Message said = node_.pipeline()->heard();
      const Word& word = said.as<Word>().front();
      switch (word.kind) {
        case Word::Kind::train:
          node_.train_step();
          break;
        case Word::Kind::leave:
          node_.strategy().leave();
          break;
        case Word::Kind::progress:
          node_.set_mean_step(word.order.step);
          break;
        case Word::Kind::snapshot:
          node_.check_parameters();
          node_.strategy().look_at_rest([&] {
            node_.pipeline()->give(written({.report = node_.take_report()}, node_.learner().parameters(),
                                           node_.learner().buffers()));
          });
          break;
        case Word::Kind::save:
          node_.save(word.order.step);
          node_.pipeline()->give(node_.control().pool.copy_of_item(word));
          break;
        case Word::Kind::stop:
          return word.order;
      }
    }
  }

  // Returns the order to stop; none: where members come and go, one that shall end leaves the others to go
  // on.
  std::optional<Order> train_until_told() {
    const bool trainer = plan_.samples.has_data(node_.replica());
    bool left = false;
    std::optional<Order> stop;
    tell({});
    while (!stop) {
      if (plan_.in_view && node_.services().interrupted) return {};
      const bool trains = trainer && (plan_.shared_steps || node_.step() < plan_.steps);
      if (trains) say({Word::Kind::train});
      if (trains) node_.train_step();
      if (!trains && !left) leave();  // others must not count on it
      const bool just_left = !trains && !left;
      left = left || !trains;
      if (just_left || node_.services().interrupted || node_.now() - told_ >= kBetweenReports ||
          node_.step() >= told_step_ + kMostStepsBeforeReport)
        tell({});
      stop = obey(trains ? node_.now() : node_.now() + kBetweenStopChecks);
    }
    if (!left) leave();
    say({Word::Kind::stop, *stop});
    return stop;
  }

  void leave() {
    say({Word::Kind::leave});
    node_.strategy().leave();
  }

  // Does what has been ordered until now, or waits for an order; returns the one to stop, if it came.
  std::optional<Order> obey(Time deadline) {
    for (;;) {
      const Received received = node_.peers().receive(NodeId{0}, tags::from_coordinator, deadline);
      if (received.outcome == Received::Outcome::peer_lost) {
        // In the next view somebody else does.
        if (!plan_.in_view) throw PeerLost(NodeId{0}, "is gone: nobody counts the steps any more");
        sleep_for(node_.endpoint(), deadline - node_.now());
        return {};
      }
      if (received.outcome != Received::Outcome::message) return {};
      const Order& order = received.message.as<Order>().front();
      if (order.kind == Order::Kind::stop) return order;
      node_.set_mean_step(order.step);
      say({Word::Kind::progress, order});
      deadline = node_.now();
      if (order.kind == Order::Kind::snapshot) send_snapshot();
      if (order.kind == Order::Kind::keep) keep(order.step);
      if (order.kind == Order::Kind::progress && plan_.in_view && !node_.first())
        if (Observer* observer = node_.observer()) observer->on_progress(order.progress);
      if (order.kind == Order::Kind::save) {
        say({Word::Kind::save, order});
        node_.save(order.step);
        for (int stage = 1; stage < node_.stages(); ++stage) node_.pipeline()->given(stage);
        tell({.kind = NodeMessage::Kind::saved});
      }
    }
  }

  // All have saved: where each process has a folder of its own, each says so in it.
  void keep(std::uint64_t number) {
    node_.self().last_checkpoint = node_.self().newest_checkpoint = number;
    if (node_.endpoint().id() == node_.services().speaker) node_.services().checkpointer->commit(number);
  }

  void send_snapshot() {
    node_.check_parameters();
    say({Word::Kind::snapshot});
    Message message;
    node_.strategy().look_at_rest([&] {
      message = written({.kind = NodeMessage::Kind::snapshot, .report = node_.take_report()},
                        node_.learner().parameters(), node_.learner().buffers());
    });
    if (node_.stages() > 1) message = joined_with_stages(message);
    node_.peers().send(NodeId{0}, tags::to_coordinator, std::move(message));
  }

  // The snapshot of the whole model, from those of the stages.
  Message joined_with_stages(const Message& own) {
    NodeMessage what;
    std::memcpy(&what, own.bytes().last(sizeof what).data(), sizeof what);
    std::vector<Message> parts{own};
    for (int stage = 1; stage < node_.stages(); ++stage) parts.push_back(node_.pipeline()->given(stage));
    std::vector<float> parameters, buffers;
    for (std::size_t s = 0; s < parts.size(); ++s) {
      const PipelinePlan& cut = *plan_.pipeline;
      const std::span<const float> numbers = parts[s].first(parts[s].size() - sizeof what).as<float>();
      const std::size_t count =
          cut.first_parameter(static_cast<int>(s) + 1) - cut.first_parameter(static_cast<int>(s));
      parameters.insert(parameters.end(), numbers.begin(),
                        numbers.begin() + static_cast<std::ptrdiff_t>(count));
      buffers.insert(buffers.end(), numbers.begin() + static_cast<std::ptrdiff_t>(count), numbers.end());
      if (s == 0) continue;
      NodeMessage told;
      std::memcpy(&told, parts[s].bytes().last(sizeof told).data(), sizeof told);
      what.report.sent.bytes += told.report.sent.bytes;
      what.report.sent.messages += told.report.sent.messages;
      what.report.compute_seconds += told.report.compute_seconds;
      what.report.waiting_seconds += told.report.waiting_seconds;
      what.report.communication_seconds += told.report.communication_seconds;
      what.report.staleness += told.report.staleness;
    }
    what.report.stage = {};  // it is of the whole model
    return with_numbers(what, parameters, buffers);
  }

  void tell(NodeMessage what) {
    told_ = node_.now();
    told_step_ = node_.step();
    node_.peers().send(NodeId{0}, tags::to_coordinator, written(what, {}, {}));
  }

  Message written(NodeMessage what, std::span<const float> parameters, std::span<const float> buffers) {
    what.steps = node_.step();
    what.saved = node_.last_checkpoint();
    what.progress = node_.take_progress();
    return with_numbers(what, parameters, buffers);
  }

  Message with_numbers(const NodeMessage& what, std::span<const float> parameters,
                       std::span<const float> buffers) {
    Message message = node_.control().pool.make(parameters.size_bytes() + buffers.size_bytes() + sizeof what);
    const auto end = std::ranges::copy(parameters, message.writable<float>().begin()).out;
    std::ranges::copy(buffers, end);
    std::memcpy(message.writable<std::byte>().last(sizeof what).data(), &what, sizeof what);
    return message;
  }

  // It may still test a model or commit a checkpoint.
  void await_coordinator() {
    for (;;) {
      const Received received = node_.peers().receive(NodeId{0}, tags::from_coordinator, kForever);
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
