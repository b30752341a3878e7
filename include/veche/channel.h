#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>

#include "veche/endpoint.h"
#include "veche/export.h"

namespace veche {

// How long a node waits for another before it calls it lost: many times the longest anything has taken so
// far, and never less than `least`. So slow networks and large models are given their time, and nobody waits
// for ever.
class AdaptiveTimeout {
 public:
  explicit AdaptiveTimeout(Time least = Time(120)) : least_(least) {}

  void note(Time duration) { longest_ = std::max(longest_, duration); }
  Time limit() const { return std::max(least_, kTimes * longest_); }

 private:
  static constexpr double kTimes = 20;
  Time least_;
  Time longest_{0};
};

// One conversation of a node with the others: what every collective needs. Collectives on the same channel
// follow each other in the same order on every node. Belongs to one thread; helpers may send.
class VECHE_API Channel {
 public:
  Channel(Endpoint& endpoint, MessagePool& pool, AdaptiveTimeout& timeout, Tag tag)
      : endpoint(endpoint), pool(pool), timeout(timeout), tag(tag), used_(std::make_shared<Used>()) {}

  // A conversation inside this one: what it sends and waits is counted here too. `among`: a group of nodes
  // that has it among itself.
  Channel child(std::uint64_t which) const { return child(which, endpoint); }
  Channel child(std::uint64_t which, Endpoint& among) const {
    return {among, pool, timeout, tag.child(which), used_};
  }

  NodeId me() const { return endpoint.id(); }
  int size() const { return endpoint.size(); }

  // What goes to oneself, to a helper, is no traffic.
  void send(NodeId to, Message message) {
    if (to != me()) count({message.size(), 1});
    endpoint.send(to, tag, std::move(message));
  }
  // The next message of this conversation from `from`; throws PeerLost when it does not come.
  Message expect(NodeId from);
  // The next from anyone, or why there is none; not counted as waiting, which is what helpers do all day.
  Received receive(Time deadline = kForever) { return endpoint.receive({}, tag, deadline); }
  // Throws PeerLost in the words of `expect`.
  [[noreturn]] void give_up(NodeId peer, Received::Outcome outcome) const;

  // By this conversation, those inside it and those it is inside of, together.
  Traffic sent() const { return {used_->bytes, used_->messages}; }
  Time waited() const { return used_->waited; }  // by the node, for messages
  void count(Traffic traffic) {
    used_->bytes += traffic.bytes;
    used_->messages += traffic.messages;
  }
  void count_wait(Time waited) {
    used_->waited += waited;
    if (used_->on_wait) used_->on_wait(waited);
  }
  // Hears of every wait that has just ended, in this conversation and those it is counted with.
  void on_wait(std::function<void(Time)> listener) { used_->on_wait = std::move(listener); }
  // Goes on from what was counted before the run was resumed.
  void set_sent(Traffic traffic) {
    used_->bytes = traffic.bytes;
    used_->messages = traffic.messages;
  }

  Endpoint& endpoint;
  MessagePool& pool;
  AdaptiveTimeout& timeout;
  const Tag tag;

 private:
  struct Used {
    std::atomic<std::uint64_t> bytes = 0;
    std::atomic<std::uint64_t> messages = 0;
    Time waited{0};
    std::function<void(Time)> on_wait;
  };
  Channel(Endpoint& among, MessagePool& pool, AdaptiveTimeout& timeout, Tag tag, std::shared_ptr<Used> used)
      : endpoint(among), pool(pool), timeout(timeout), tag(tag), used_(std::move(used)) {}

  const std::shared_ptr<Used> used_;
};

}  // namespace veche
