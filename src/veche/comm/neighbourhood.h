#pragma once

#include <span>

#include "veche/comm/engine_collectives.h"

namespace veche {

// A node and those it exchanges vectors with, over and over: the same neighbours and the same length every
// time, so that an engine can prepare it once. Made by EngineCollectives::neighbourhood. One thread.
class Neighbourhood {
 public:
  virtual ~Neighbourhood() = default;

  // What this node sends next; to be written between exchanges.
  virtual std::span<float> mine() = 0;
  // Sends it to the readers and waits for what the sources send.
  virtual EngineCollectives::Outcome exchange(Time deadline) = 0;
  // What came from the source with this index in the list; valid until the next exchange.
  virtual std::span<const float> from(std::size_t source) const = 0;
};

// The same for a channel: throws PeerLost and counts what was sent.
void exchange(Channel& channel, Neighbourhood& neighbourhood);

}  // namespace veche
