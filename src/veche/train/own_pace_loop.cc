#include "veche/train/own_pace_loop.h"

#include <algorithm>
#include <optional>

#include "veche/train/clerk.h"
#include "veche/train/late_evaluation.h"

namespace veche {
namespace {

constexpr Time kSecondsBetweenTellings{0.01};
constexpr Time kNap{0.05};  // of a node that has no more steps to make, between orders

class OwnPaceLoop {
 public:
  explicit OwnPaceLoop(NodeWork& work) : work_(work), p_(work.parts()), plan_(work.plan()) {}

  Evaluation run() {
    std::optional<Clerk> clerk;
    if (work_.first()) hire(clerk);
    const std::string stopped = train_until_told();
    if (stopped == "lost") throw PeerLost(NodeId{0}, "has ended the run because a node is gone");
    barrier(work_.control());  // nobody makes a step any more
    p_.strategy.finish();
    if (clerk) clerk->join();
    std::uint64_t all = 0;
    for (const std::uint64_t steps : gather(work_.control(), work_.step())) all += steps;
    work_.set_mean_step(all / trainers());
    if (stopped == "interrupted") return interrupted_at(work_.mean_step());
    const Evaluation last = work_.evaluate(stopped);
    work_.checkpoint(std::max(work_.mean_step(), work_.last_checkpoint() + 1));
    return last;
  }

 private:
  std::uint64_t trainers() const {
    return plan_.samples.trainers(static_cast<std::size_t>(work_.endpoint().size()));
  }

  void hire(std::optional<Clerk>& clerk) {
    clerk.emplace(Clerk::Parts{.endpoint = work_.endpoint(),
                               .plan = plan_,
                               .parameters = p_.learner.parameters().size(),
                               .trainers = static_cast<int>(trainers()),
                               .spare = p_.spare_learner,
                               .test = p_.test,
                               .slots = p_.slots,
                               .interrupted = p_.interrupted,
                               .observer = p_.observer,
                               .checkpointer = p_.checkpointer,
                               .rate = [this](std::uint64_t step) { return p_.schedule.rate(step); },
                               .first_step = p_.checkpoint});
  }

  // Returns why the run stops.
  std::string train_until_told() {
    const bool trainer = plan_.samples.has_data(work_.me());
    bool left = false;
    std::string stopped;
    tell_clerk();
    while (stopped.empty()) {
      const bool trains = trainer && (plan_.shared_steps || work_.step() < plan_.steps);
      if (trains) work_.train_step();
      if (!trains && !left) p_.strategy.leave();  // others must not count on it
      left = left || !trains;
      if (work_.now() - told_ >= kSecondsBetweenTellings || !trains) tell_clerk();
      stopped = obey(trains ? work_.now() : work_.now() + kNap);
    }
    if (!left && stopped != "lost") p_.strategy.leave();
    return stopped;
  }

  void tell_clerk() {
    const Told news{.glance = work_.take_glance(), .steps = work_.step()};
    told_ = work_.now();
    send(kToldTag, news);
  }

  template <class Letter>
  void send(Tag tag, const Letter& letter) {
    work_.endpoint().send(NodeId{0}, tag, work_.control().pool.copy_of_item(letter));
  }

  // Does what the clerk has ordered until now, or waits for an order; returns why the run stops, if it does.
  std::string obey(Time deadline) {
    for (;;) {
      const Received received = work_.endpoint().receive(NodeId{0}, kOrderTag, deadline);
      if (received.outcome == Received::Outcome::peer_lost)
        throw PeerLost(NodeId{0}, "is gone: nobody counts the steps any more");
      if (received.outcome != Received::Outcome::message) return {};
      const Order& order = received.message.as<Order>().front();
      work_.set_mean_step(order.step);
      deadline = work_.now();
      switch (order.kind) {
        case Order::Kind::progress:
          break;
        case Order::Kind::snapshot: {
          work_.check_parameters();
          const auto held = p_.strategy.hold();
          work_.endpoint().send(
              NodeId{0}, kSnapshotTag,
              LateEvaluation::snapshot(work_.control().pool, p_.learner, work_.take_report()));
          break;
        }
        case Order::Kind::save:
          work_.save(order.step);
          send(kSavedTag, order.step);
          break;
        case Order::Kind::stop:
          return order.reason.data();
      }
    }
  }

  NodeWork& work_;
  const NodeParts& p_;
  const LoopPlan& plan_;
  Time told_{0};  // when the clerk last heard of it
};

}  // namespace

Evaluation run_at_own_pace(NodeWork& work) { return OwnPaceLoop(work).run(); }

}  // namespace veche
