#pragma once

#include <algorithm>

#include "veche/comm/endpoint.h"

namespace veche {

// How long a node waits for another before it calls it lost: many times the longest anything has taken so
// far, and never less than `least`. So slow networks and large models are given their time, and nobody waits
// for ever.
class Patience {
 public:
  explicit Patience(Time least = Time(120)) : least_(least) {}

  void note(Time duration) { longest_ = std::max(longest_, duration); }
  Time limit() const { return std::max(least_, kTimes * longest_); }

 private:
  static constexpr double kTimes = 20;
  Time least_;
  Time longest_{0};
};

// One conversation of a node with the others: what every collective needs. Collectives on the same channel
// follow each other in the same order on every node. Belongs to one thread.
struct Channel {
  Endpoint& endpoint;
  MessagePool& pool;
  Patience& patience;
  Tag tag;
  Traffic sent = {};
  Time waited{0};  // for messages

  NodeId me() const { return endpoint.id(); }
  int size() const { return endpoint.size(); }

  void send(NodeId to, Message message) {
    sent.bytes += message.size();
    sent.messages += 1;
    endpoint.send(to, tag, std::move(message));
  }

  // The next message of this conversation from `from`; throws PeerLost when it does not come.
  Message expect(NodeId from);
  // Throws PeerLost in the words of `expect`.
  [[noreturn]] void give_up(NodeId peer, Received::Outcome outcome) const;
};

}  // namespace veche
