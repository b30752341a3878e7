#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "veche/export.h"
#include "veche/message.h"
#include "veche/node_id.h"
#include "veche/tag.h"

namespace veche {

// Time since the cluster started, as the endpoint tells it: real on a machine, virtual in a
// simulation. Never read another clock.
using Time = std::chrono::duration<double>;

inline constexpr Time kForever{1e9};

struct Received {
  enum class Outcome { message, timed_out, peer_lost };
  Outcome outcome = Outcome::timed_out;
  NodeId from;      // the sender, or the peer that was lost
  Message message;  // when outcome is `message`
};

struct Traffic {
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

// A piece of computing, such as the forward and backward pass of a step.
struct Work {
  std::uint64_t step = 0;  // of the nodes that wait for a core, the one with the lowest step goes first
  double flops = 0;        // its cost, where time is virtual; 0: unknown
};

// Thrown by the waits of a helper whose node has ended. Not a std::exception, so that no handler of
// failures catches it.
struct NodeEnded {};

// Thrown by the waits of a node and its helpers on the grid when the members change: the step under
// way is repeated with the new members. Every later wait throws it again, so a node that catches
// it, as an AsyncServer may to complete its step alone, must not wait any more. Not a
// std::exception, so that no handler of failures catches it.
struct ViewChanged {};

class EngineCollectives;  // not installed: only Veche's own strategies use them

// A node's only view of the network and of time. A node is a plain blocking program over it, so the
// same strategy runs on threads, MPI, the grid and in virtual time. The engine decides what a
// thread, a wait and a second are: hold no mutex across a call. Threads: an endpoint belongs to one
// node; the node and its helpers may call it at the same time. Errors: a lost peer is a value.
// Sending to a lost peer does nothing. An id out of range throws std::out_of_range.
class VECHE_API Endpoint {
 public:
  virtual ~Endpoint() = default;
  Endpoint& operator=(const Endpoint&) = delete;

  NodeId id() const { return identity_.id; }
  int size() const { return identity_.size; }
  // The number of a peer in messages for people. In a group of nodes it differs from the peer's id.
  NodeId known_as(NodeId peer) const {
    return identity_.names.empty() ? peer : identity_.names.at(static_cast<std::size_t>(peer.value));
  }
  Traffic sent() const { return {identity_.sent->bytes, identity_.sent->messages}; }

  // Never waits for the receiver. The message must not be changed afterwards.
  virtual void send(NodeId to, Tag tag, Message message) = 0;
  // Waits until `deadline` for a message with this tag from `from`, or from anyone. A caller that
  // waits for anyone is told of each lost peer once per tag, after the messages of that peer.
  virtual Received receive(std::optional<NodeId> from, Tag tag, Time deadline) = 0;
  // Sends anything buffered. A node calls it before it ends.
  virtual void flush() {}

  virtual Time now() const = 0;
  virtual bool alive(NodeId peer) const = 0;

  // Starts a helper of this node, which runs beside it on the same endpoint. When a helper throws,
  // its node ends with that cause: the node's next wait throws it, and the other nodes lose the
  // node. When the node ends, the waits of its helpers throw NodeEnded, and the helpers are joined.
  virtual void spawn(std::function<void()> helper) = 0;
  // Does the work when the engine has a free core. Returns the time the work took, without the wait
  // for the core. The core is given back during every wait inside the work. Only inside
  // Cluster::run.
  virtual Time compute(const Work& what, const std::function<void()>& work) = 0;

  // Collectives that the engine does without messages; null: none. For Veche's own strategies.
  virtual EngineCollectives* collectives() { return nullptr; }

 protected:
  struct SentCount {
    std::atomic<std::uint64_t> bytes = 0;
    std::atomic<std::uint64_t> messages = 0;
  };
  struct Identity {
    NodeId id;
    int size = 0;
    std::vector<NodeId> names = {};  // for known_as, by id; empty: the ids themselves
    std::shared_ptr<SentCount> sent = std::make_shared<SentCount>();
  };
  explicit Endpoint(Identity identity) : identity_(std::move(identity)) {}
  // For an endpoint around another: the same node, names and count.
  Endpoint(const Endpoint& inner) = default;

  void count_sent(Traffic traffic) {
    identity_.sent->bytes.fetch_add(traffic.bytes, std::memory_order_relaxed);
    identity_.sent->messages.fetch_add(traffic.messages, std::memory_order_relaxed);
  }

 private:
  const Identity identity_;
};

}  // namespace veche
