#include "veche/comm/channel.h"

#include "veche/base/errors.h"

namespace veche {

Message Channel::expect(NodeId from) {
  const Time start = endpoint.now();
  Received received = endpoint.receive(from, tag, start + patience.limit());
  switch (received.outcome) {
    case Received::Outcome::message:
      patience.note(endpoint.now() - start);
      return std::move(received.message);
    case Received::Outcome::peer_lost:
      throw PeerLost(from, "is gone: node " + std::to_string(me().value) + " cannot go on without it");
    case Received::Outcome::timed_out: break;
  }
  throw PeerLost(from, "did not answer node " + std::to_string(me().value) + " within " +
                           std::to_string(static_cast<int>(patience.limit().count())) +
                           " s, many times the longest step so far");
}

}  // namespace veche
