#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>

#include "veche/endpoint.h"
#include "veche/export.h"

namespace veche {

// How long a node waits for a peer before it reports the peer lost: many times the longest wait so
// far, and never less than `least`. So slow networks and large models get the time they need, and
// no wait is endless.
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

// One conversation of a node with its peers: an endpoint, a tag, and what every collective needs.
// All nodes use the collectives of a channel in the same order. Belongs to one thread; helpers may
// send.
class VECHE_API Channel {
 public:
  Channel(Endpoint& endpoint, MessagePool& pool, AdaptiveTimeout& timeout, Tag tag)
      : endpoint(endpoint), pool(pool), timeout(timeout), tag(tag), used_(std::make_shared<Used>()) {}

  // A conversation inside this one, with a child of its tag; its traffic and waits are counted here
  // too. `among`: the endpoint of a group that has the conversation among its members.
  Channel child(std::uint64_t which) const { return child(which, endpoint); }
  Channel child(std::uint64_t which, Endpoint& among) const {
    return {among, pool, timeout, tag.child(which), used_};
  }

  NodeId me() const { return endpoint.id(); }
  int size() const { return endpoint.size(); }

  // A message to the node itself, for a helper, is not counted.
  void send(NodeId to, Message message) {
    if (to != me()) count({message.size(), 1});
    endpoint.send(to, tag, std::move(message));
  }
  // The next message from `from`. Throws PeerLost when none arrives.
  Message expect(NodeId from);
  // The same for a message of exactly this size; throws BadMessage, which names the peer, for any
  // other.
  Message expect(NodeId from, std::size_t bytes);
  // The next message from any peer, or why there is none. Not counted as waiting: helpers wait all
  // the time.
  Received receive(Time deadline = kForever) { return endpoint.receive({}, tag, deadline); }
  // Throws PeerLost as `expect` does.
  [[noreturn]] void give_up(NodeId peer, Received::Outcome outcome) const;

  // Of this conversation, its children and its parents, together.
  Traffic sent() const { return {used_->bytes, used_->messages}; }
  Time waited() const { return used_->waited; }  // for messages, by the node
  void count(Traffic traffic) {
    used_->bytes += traffic.bytes;
    used_->messages += traffic.messages;
  }
  void count_wait(Time waited) {
    used_->waited += waited;
    if (used_->on_wait) used_->on_wait(waited);
  }
  // Called after every wait of this conversation, its children and its parents.
  void on_wait(std::function<void(Time)> listener) { used_->on_wait = std::move(listener); }
  // Restores the count of a resumed run.
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
