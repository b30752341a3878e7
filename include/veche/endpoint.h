#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "veche/export.h"
#include "veche/message.h"
#include "veche/node_id.h"
#include "veche/tag.h"

namespace veche {

// Time as the endpoint tells it: real on a machine, virtual in a simulation. Never read another clock.
using Time = std::chrono::duration<double>;  // since the cluster started

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

// A piece of computing, such as the pass of a step.
struct Work {
  std::uint64_t step = 0;  // where nodes wait for a core, the one furthest behind goes first
  double flops = 0;        // what it costs, where time is virtual; 0: not known
};

// Thrown by the waits of a helper whose node has ended. No std::exception: nobody shall take it for a
// failure.
struct NodeEnded {};

class EngineCollectives;  // comm/engine_collectives.h

// A node's only view of the network and of time. A node is a plain blocking program over it, so that the same
// strategy runs on threads, MPI, the grid and in virtual time. All waiting and all time go through here, and
// the engine decides what a thread, a wait and a second are: hold no mutex across a call. Threads: one
// endpoint belongs to one node; its methods may be called by the node and its helpers at the same time.
// Errors: losing a peer is a value. Sending to a lost peer does nothing. Misuse (an id out of range) throws.
class VECHE_API Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual NodeId id() const = 0;
  virtual int size() const = 0;
  // How people know a peer, for what is said of it: in a group of nodes it has another number.
  virtual NodeId known_as(NodeId peer) const { return peer; }

  // Never waits for the receiver. The message must not be changed afterwards.
  virtual void send(NodeId to, Tag tag, Message message) = 0;
  // Waits for a message with this tag from `from`, or from anyone, until `deadline`. Who waits for anyone is
  // told of each lost peer once a tag, after what it had sent.
  virtual Received receive(std::optional<NodeId> from, Tag tag, Time deadline) = 0;

  // Whoever holds back what was sent lets it go. A node calls it before it ends.
  virtual void flush() {}

  virtual Time now() const = 0;
  virtual bool alive(NodeId peer) const = 0;
  virtual Traffic sent() const = 0;

  // Starts a helper of this node, which runs beside it on the same endpoint. A helper that throws ends its
  // node with that cause: the node's next wait throws it, and the others have lost the node. When the node
  // ends, the waits of its helpers throw NodeEnded, and they are joined.
  virtual void spawn(std::function<void()> helper) = 0;
  // Does the work where the engine has room for it, and tells how long it took, not how long it waited for
  // the room, which is given back around every wait inside. Only inside Cluster::run.
  virtual Time compute(const Work& what, const std::function<void()>& work) = 0;

  // Collectives that the engine does without messages; null: use messages.
  virtual EngineCollectives* collectives() { return nullptr; }
};

}  // namespace veche
