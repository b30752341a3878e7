#include "veche/channel.h"

#include "veche/errors.h"
#include "veche/packed.h"

namespace veche {
namespace {

// A node that wakes up this long after its deadline was stopped, as by Ctrl-Z, and its peers
// perhaps with it.
constexpr Time kStopped(2);

}  // namespace

Message Channel::expect(NodeId from) {
  const Time start = endpoint.now();
  Received received;
  Time until = start;
  do {
    until = endpoint.now() + timeout.limit();
    received = endpoint.receive(from, tag, until);
  } while (received.outcome == Received::Outcome::timed_out && endpoint.now() > until + kStopped);
  if (received.outcome != Received::Outcome::message) give_up(from, received.outcome);
  const Time took = endpoint.now() - start;
  count_wait(took);
  timeout.note(took);
  return std::move(received.message);
}

Message Channel::expect(NodeId from, std::size_t bytes) {
  Message message = expect(from);
  if (message.size() != bytes)
    throw BadMessage(endpoint.known_as(from), message.size(),
                     "a message of " + std::to_string(bytes) + " bytes");
  return message;
}

void Channel::give_up(NodeId peer, Received::Outcome outcome) const {
  const NodeId lost = endpoint.known_as(peer);
  const std::string mine = std::to_string(endpoint.known_as(me()).value);
  if (outcome == Received::Outcome::peer_lost)
    throw PeerLost(lost, "is gone: node " + mine + " cannot continue without it");
  throw PeerLost(lost, "did not answer node " + mine + " within " +
                           std::to_string(static_cast<int>(timeout.limit().count())) +
                           " s, many times the longest step so far");
}

}  // namespace veche
