#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "veche/base/message.h"
#include "veche/base/node_id.h"

namespace veche {

// Time as the endpoint tells it: real on a machine, virtual in a simulation. Never read another clock.
using Time = std::chrono::duration<double>;  // since the cluster started

// Which conversation a message belongs to: messages with one sender and one tag arrive in the order of
// sending.
struct Tag {
  std::uint64_t value = 0;
  auto operator<=>(const Tag&) const = default;
};

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

class NativeCollectives;  // comm/native.h

// A node's only view of the network. A node is a plain blocking program over it, so that the same strategy
// runs on threads, MPI, the grid and in virtual time. All waiting and all time go through here. Threads: one
// endpoint belongs to one node; its methods may be called by that node's threads at the same time. Errors:
// losing a peer is a value. Sending to a lost peer does nothing. Misuse (an id out of range) throws.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual NodeId id() const = 0;
  virtual int size() const = 0;

  // Never waits for the receiver. The message must not be changed afterwards.
  virtual void send(NodeId to, Tag tag, Message message) = 0;
  // Waits for a message with this tag from `from`, or from anyone, until `deadline`.
  virtual Received receive(std::optional<NodeId> from, Tag tag, Time deadline) = 0;

  virtual Time now() const = 0;
  virtual bool alive(NodeId peer) const = 0;
  virtual Traffic sent() const = 0;

  // What the engine does for all nodes together without messages; nothing: use messages.
  virtual NativeCollectives* native() { return nullptr; }
};

}  // namespace veche
