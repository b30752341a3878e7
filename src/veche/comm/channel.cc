#include "veche/channel.h"

#include "veche/errors.h"

namespace veche {

Message Channel::expect(NodeId from) {
  const Time start = endpoint.now();
  Received received = endpoint.receive(from, tag, start + patience.limit());
  if (received.outcome != Received::Outcome::message) give_up(from, received.outcome);
  const Time took = endpoint.now() - start;
  count_wait(took);
  patience.note(took);
  return std::move(received.message);
}

void Channel::give_up(NodeId peer, Received::Outcome outcome) const {
  const NodeId lost = endpoint.known_as(peer);
  const std::string mine = std::to_string(endpoint.known_as(me()).value);
  if (outcome == Received::Outcome::peer_lost)
    throw PeerLost(lost, "is gone: node " + mine + " cannot go on without it");
  throw PeerLost(lost, "did not answer node " + mine + " within " +
                           std::to_string(static_cast<int>(patience.limit().count())) +
                           " s, many times the longest step so far");
}

}  // namespace veche
