#include "veche/train/async/async_loop.h"

#include <algorithm>

#include "veche/comm/sleep.h"
#include "veche/comm/tags.h"
#include "veche/packed.h"
#include "veche/train/async/coordinator.h"
#include "veche/train/loop/checkpoint_writer.h"
#include "veche/train/loop/diverged.h"
#include "veche/train/loop/evaluator.h"
#include "veche/train/loop/membership.h"
#include "veche/train/loop/step.h"
#include "veche/train/measure/measure.h"

namespace veche {
namespace {

constexpr Time kBetweenReports{0.01};
constexpr std::uint64_t kMostStepsBeforeReport = 1000;  // in virtual time a step may take no time
// A node without steps to make waits for orders. Meanwhile it checks whether the user has
// interrupted the run.
constexpr Time kBetweenStopChecks{0.5};

class AsyncLoop {
 public:
  explicit AsyncLoop(const LoopParts& loop)
      : loop_(loop), node_(loop.node), links_(loop.node.links), plan_(loop.node.plan) {}

  Evaluation run() {
    if (links_.first()) {
      // The helper owns the coordinator, since it may still run when this node fails.
      links_.endpoint().spawn(
          [coordinator = std::make_shared<Coordinator>(coordinator_setup())] { coordinator->run(); });
    }
    const std::optional<Order> told = leads() ? train_until_told() : follow();
    if (!told) return interrupted_at(node_.counters.step);
    const Order& stop = *told;
    const std::optional<StopReason> reason = parse_stop_reason(stop.reason);
    if (!reason)
      throw BadMessage(coordinator_, sizeof stop, "an order to stop for a reason that this version knows");
    const StopReason stopped = *reason;
    barrier(links_.control);  // no node makes another step
    loop_.step.finish();
    if (links_.first()) await_coordinator();
    if (stopped == StopReason::interrupted) {
      barrier(links_.control);  // helpers of nodes that finish first must still answer the others
      return interrupted_at(stop.step);
    }
    std::uint64_t all = 0;
    const Gathered<std::uint64_t> made(links_.control, node_.counters.step);
    for (const std::uint64_t steps : made.all()) all += steps;
    all /= static_cast<std::uint64_t>(links_.stages());  // the stages of a replica make the same steps
    node_.counters.mean_step = all / plan_.samples.trainers(links_.replicas());
    const Evaluation last = loop_.evaluator.evaluate(stopped);
    loop_.checkpoints.save(std::max(node_.counters.mean_step, node_.counters.last_checkpoint + 1));
    return last;
  }

 private:
  // From the first stage to the others of its replica.
  struct Word {
    enum class Kind { train, leave, progress, snapshot, save, stop } kind = Kind::train;
    Order order = {};  // from the coordinator
  };
  bool leads() const { return links_.pipeline() == nullptr || links_.pipeline()->first(); }
  void say(const Word& word) {
    if (links_.stages() > 1) links_.pipeline()->say(links_.control.pool.copy_of_item(word));
  }

  Learner& learner() const { return *node_.model.learner; }
  void check() const { check_parameters(learner().parameters(), links_.id(), node_.counters.step); }

  Coordinator::Setup coordinator_setup() const {
    return {.plan = plan_,
            .peers = links_.peers(),
            .endpoint = links_.endpoint(),
            .observer = node_.observer(),
            .checkpointer = node_.services.checkpointer,
            .spare_learner = node_.services.spare_learner,
            .parameters = plan_.pipeline ? plan_.pipeline->parameter_count() : learner().parameters().size(),
            .buffers = plan_.pipeline ? plan_.pipeline->first_buffer(plan_.pipeline->stages)
                                      : learner().buffers().size(),
            .last_checkpoint = node_.counters.last_checkpoint,
            .survives_losses = node_.membership.survives_losses(),
            .records = node_.membership.records()};
  }

  // The loop of the stages after the first; returns the order to stop.
  Order follow() {
    for (;;) {
      const Message said = links_.pipeline()->heard();
      const auto word = unpack_item<Word>(said, links_.pipeline()->known_as(0), "a word of the first stage");
      switch (word.kind) {
        case Word::Kind::train:
          loop_.step.run();
          break;
        case Word::Kind::leave:
          node_.strategy.leave();
          break;
        case Word::Kind::progress:
          node_.counters.mean_step = word.order.step;
          break;
        case Word::Kind::snapshot:
          check();
          links_.pipeline()->give(snapshot({.report = loop_.evaluator.take_report()}));
          break;
        case Word::Kind::save:
          loop_.checkpoints.write(word.order.step);
          links_.pipeline()->give(links_.control.pool.copy_of_item(word));
          break;
        case Word::Kind::stop:
          return word.order;
      }
    }
  }

  // Returns the order to stop; nothing if this node leaves a run that goes on without it.
  std::optional<Order> train_until_told() {
    const bool trainer = plan_.samples.has_data(links_.replica());
    bool left = false;
    std::optional<Order> stop;
    tell({});
    while (!stop) {
      if (node_.membership.leaves_run()) return {};
      const bool trains = trainer && (plan_.shared_steps || node_.counters.step < plan_.steps) &&
                          !samples_ended_ && has_samples();
      if (trains) say({Word::Kind::train});
      if (trains) loop_.step.run();
      if (!trains && !left) leave();  // the others must not wait for it
      const bool just_left = !trains && !left;
      left = left || !trains;
      if (just_left || node_.services.interrupted || links_.now() - last_report_ >= kBetweenReports ||
          node_.counters.step >= told_step_ + kMostStepsBeforeReport)
        tell({});
      stop = obey(trains ? links_.now() : links_.now() + kBetweenStopChecks);
    }
    if (!left) leave();
    say({Word::Kind::stop, *stop});
    return stop;
  }

  bool has_samples() {
    samples_ended_ = loop_.step.is_driven() && !loop_.step.await_gradient();
    return !samples_ended_;
  }

  void leave() {
    say({Word::Kind::leave});
    node_.strategy.leave();
  }

  // Obeys the orders that have come; without any it waits for one until the deadline. Returns the
  // order to stop, if that has come.
  std::optional<Order> obey(Time deadline) {
    for (;;) {
      const Received received = links_.peers().receive(NodeId{0}, tags::from_coordinator, deadline);
      if (received.outcome == Received::Outcome::peer_lost) {
        // In the next view another node counts them.
        if (!node_.membership.survives_losses())
          throw PeerLost(coordinator_, "is gone: it counted the steps");
        sleep_for(links_.endpoint(), deadline - links_.now());
        return {};
      }
      if (received.outcome != Received::Outcome::message) return {};
      const auto order = unpack_item<Order>(received.message, coordinator_, "an order");
      if (order.kind == Order::Kind::stop) return order;
      node_.counters.mean_step = order.step;
      say({Word::Kind::progress, order});
      deadline = links_.now();
      if (order.kind == Order::Kind::snapshot) send_snapshot();
      if (order.kind == Order::Kind::keep) keep(order.step);
      if (order.kind == Order::Kind::progress && node_.membership.records().tells_all() && !links_.first())
        if (Observer* observer = node_.observer()) observer->on_progress(order.progress);
      if (order.kind == Order::Kind::save) {
        say({Word::Kind::save, order});
        loop_.checkpoints.write(order.step);
        for (int stage = 1; stage < links_.stages(); ++stage) links_.pipeline()->given(stage);
        tell({.kind = NodeMessage::Kind::saved});
      }
    }
  }

  // All nodes have saved this checkpoint: each process commits it in its own folder.
  void keep(std::uint64_t number) {
    node_.counters.last_checkpoint = node_.counters.newest_checkpoint = number;
    loop_.checkpoints.commit(number);
  }

  void send_snapshot() {
    check();
    say({Word::Kind::snapshot});
    Message message =
        snapshot({.kind = NodeMessage::Kind::snapshot, .report = loop_.evaluator.take_report()});
    if (links_.stages() > 1) message = joined_with_stages(message);
    links_.peers().send(NodeId{0}, tags::to_coordinator, std::move(message));
  }

  // The snapshot of the whole model, made of those of its stages.
  Message joined_with_stages(const Message& own) {
    NodeMessage what;
    std::vector<Message> parts{own};
    for (int stage = 1; stage < links_.stages(); ++stage) parts.push_back(links_.pipeline()->given(stage));
    std::vector<float> parameters, buffers;
    for (std::size_t s = 0; s < parts.size(); ++s) {
      const PipelinePlan& cut = *plan_.pipeline;
      const auto stage = static_cast<int>(s);
      const NodeId from = links_.pipeline()->known_as(stage);
      const auto [told, content] = unpack_with_trailer<NodeMessage>(parts[s], from, "a snapshot");
      const std::size_t count = cut.first_parameter(stage + 1) - cut.first_parameter(stage);
      const std::size_t all = count + cut.first_buffer(stage + 1) - cut.first_buffer(stage);
      const std::span<const float> numbers =
          unpack_items<float>(parts[s].first(content.size()), all, from, "the model of a stage");
      parameters.insert(parameters.end(), numbers.begin(),
                        numbers.begin() + static_cast<std::ptrdiff_t>(count));
      buffers.insert(buffers.end(), numbers.begin() + static_cast<std::ptrdiff_t>(count), numbers.end());
      if (s == 0) {
        what = told;
        continue;
      }
      what.report.sent.bytes += told.report.sent.bytes;
      what.report.sent.messages += told.report.sent.messages;
      what.report.compute_seconds += told.report.compute_seconds;
      what.report.waiting_seconds += told.report.waiting_seconds;
      what.report.communication_seconds += told.report.communication_seconds;
      what.report.staleness += told.report.staleness;
    }
    what.report.stage = {};  // the report is of the whole model
    return with_numbers(what, parameters, buffers);
  }

  void tell(NodeMessage what) {
    last_report_ = links_.now();
    told_step_ = node_.counters.step;
    links_.peers().send(NodeId{0}, tags::to_coordinator, with_numbers(completed(what), {}, {}));
  }

  NodeMessage completed(NodeMessage what) {
    what.steps = node_.counters.step;
    what.saved = node_.counters.last_checkpoint;
    what.samples_ended = samples_ended_;
    what.progress = loop_.evaluator.take_progress();
    return what;
  }

  Message snapshot(const NodeMessage& what) {
    const NodeMessage told = completed(what);
    Message message;
    node_.strategy.inspect(
        [&] { message = with_numbers(told, learner().parameters(), learner().buffers()); });
    return message;
  }

  Message with_numbers(const NodeMessage& what, std::span<const float> parameters,
                       std::span<const float> buffers) {
    return pack_bytes(links_.control.pool,
                      {std::as_bytes(parameters), std::as_bytes(buffers), bytes_of(what)});
  }

  // The coordinator may still test a model or commit a checkpoint.
  void await_coordinator() {
    for (;;) {
      const Received received = links_.peers().receive(NodeId{0}, tags::from_coordinator, kForever);
      if (unpack_item<Order>(received.message, coordinator_, "an order").kind == Order::Kind::done) return;
    }
  }

  const LoopParts& loop_;
  NodeParts node_;
  Connections& links_;
  const TrainingPlan& plan_;
  const NodeId coordinator_ = links_.peers().known_as(NodeId{0});  // the node that runs it
  Time last_report_{0};  // when it last sent the coordinator a message, and at which step
  std::uint64_t told_step_ = 0;
  bool samples_ended_ = false;  // of a driven learner
};

}  // namespace

Evaluation run_async(const LoopParts& loop) { return AsyncLoop(loop).run(); }

}  // namespace veche
