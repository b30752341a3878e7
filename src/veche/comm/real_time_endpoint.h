#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "veche/comm/check_id.h"
#include "veche/comm/engine_collectives.h"
#include "veche/comm/mailbox.h"
#include "veche/comm/node_threads.h"
#include "veche/comm/parts.h"
#include "veche/comm/slots.h"
#include "veche/endpoint.h"

namespace veche {

// What the endpoints of threads, MPI and the grid have in common: the node is a thread of this
// process, its messages arrive in a mailbox, it computes in a slot, and time is the steady clock.
// `Engine` is the derived class; its functions are called directly, so a message costs no virtual
// call more than one `send` or `receive`. An engine provides
//   alive(peer)                 as in Endpoint
//   deliver(to, tag, message)   hands over a message to a peer that is alive
//   lost_any()                  whether any peer was lost yet: cheap, and may be true too early
// and may replace
//   check_call()                before a message that is there is taken
//   check_wait()                before and inside every wait, and before computing; may throw
//   wait(from, tag, until)      sleeps until there is an outcome
//   computed(took)              told the time of each `compute`, with the wait for a slot
template <class Engine>
class RealTimeEndpoint : public Endpoint {
 public:
  using Clock = Mailbox::Clock;

  void send(NodeId to, Tag tag, Message message) final {
    threads_.check();
    check_id(to, size());
    if (!engine().alive(to)) return;
    count_sent({message.size(), 1});
    engine().deliver(to, tag, std::move(message));
  }

  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) final {
    if (from) check_id(*from, size());
    engine().check_call();
    if (auto there = mailbox_.take(from, tag)) return std::move(*there);
    engine().check_wait();
    const Slots::Away away;
    Received result = engine().wait(from, tag, at(deadline));
    if (result.outcome == Received::Outcome::timed_out) result.from = from.value_or(id());
    return result;
  }

  Time now() const final { return Clock::now() - start_; }
  void spawn(std::function<void()> helper) final { threads_.spawn(std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) final {
    engine().check_wait();
    const Clock::time_point asked = Clock::now();
    const Slots::Turn turn(slots_, what.step);
    const Clock::time_point start = Clock::now();
    work();
    const Clock::time_point end = Clock::now();
    engine().computed(end - asked);
    return end - start;
  }

 protected:
  // What the engine keeps for the node; outlives the endpoint.
  struct Parts {
    Mailbox& mailbox;
    NodeThreads& threads;
    Slots& slots;
  };
  void check_call() const { threads_.check(); }
  void check_wait() const { threads_.check(); }
  void computed(Time /*took*/) {}

  Received wait(std::optional<NodeId> from, Tag tag, Clock::time_point until) {
    return mailbox_.receive(from, tag, until, [&]() -> std::optional<NodeId> {
      engine().check_wait();
      if (from) return *from == id() || engine().alive(*from) ? std::nullopt : from;
      if (!engine().lost_any()) return {};
      return mailbox_.next_loss(tag, size(), [this](NodeId peer) { return engine().alive(peer); });
    });
  }

  Clock::time_point at(Time deadline) const {
    return start_ + std::chrono::duration_cast<Clock::duration>(deadline);
  }

  // The outcome of an all-reduce that the engine did without messages. It counts as the fewest
  // bytes that messages would need: each part to its owner, and the sum of the own part to every
  // node.
  EngineCollectives::Outcome count_all_reduce(std::span<float> data, Time waited) {
    const std::size_t own = part_of(data, size(), id().value).size();
    const auto others = static_cast<std::size_t>(size() - 1);
    const Traffic traffic{(data.size() - own + others * own) * sizeof(float), 2 * others};
    count_sent(traffic);
    return {Received::Outcome::message, id(), traffic, waited};
  }

  Mailbox& mailbox_;
  NodeThreads& threads_;
  Slots& slots_;
  const Clock::time_point start_;

 private:
  friend Engine;  // only the engine may construct its base
  RealTimeEndpoint(Identity identity, Parts parts, Clock::time_point start)
      : Endpoint(std::move(identity)),
        mailbox_(parts.mailbox),
        threads_(parts.threads),
        slots_(parts.slots),
        start_(start) {}

  Engine& engine() { return static_cast<Engine&>(*this); }
  const Engine& engine() const { return static_cast<const Engine&>(*this); }
};

}  // namespace veche
