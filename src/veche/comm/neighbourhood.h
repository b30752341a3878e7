#pragma once

#include <span>

#include "veche/comm/engine_collectives.h"

namespace veche {

// A repeated exchange of vectors with the same neighbours and of the same length, which an engine
// prepares once. Made by EngineCollectives::neighbourhood. Belongs to one thread.
class Neighbourhood {
 public:
  virtual ~Neighbourhood() = default;

  // The vector that this node sends next; write it between exchanges.
  virtual std::span<float> mine() = 0;
  // Sends it to the readers and waits for the vectors of the sources.
  virtual EngineCollectives::Outcome exchange(Time deadline) = 0;
  // The vector received from the source with this index; valid until the next exchange.
  virtual std::span<const float> from(std::size_t source) const = 0;
};

// The same over a channel: throws PeerLost, and counts the traffic.
void exchange(Channel& channel, Neighbourhood& neighbourhood);

}  // namespace veche
