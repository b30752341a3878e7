#include "veche/channel.h"

#include "veche/errors.h"

namespace veche {
namespace {

// Who wakes up so long after its deadline did not wait but was stopped, as by Ctrl-Z, perhaps with its peers.
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

void Channel::give_up(NodeId peer, Received::Outcome outcome) const {
  const NodeId lost = endpoint.known_as(peer);
  const std::string mine = std::to_string(endpoint.known_as(me()).value);
  if (outcome == Received::Outcome::peer_lost)
    throw PeerLost(lost, "is gone: node " + mine + " cannot go on without it");
  throw PeerLost(lost, "did not answer node " + mine + " within " +
                           std::to_string(static_cast<int>(timeout.limit().count())) +
                           " s, many times the longest step so far");
}

}  // namespace veche
