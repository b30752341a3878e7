#pragma once

#include <memory>
#include <span>

#include "veche/base/module_api.h"
#include "veche/channel.h"

namespace veche {

class Neighbourhood;  // comm/neighbourhood.h

// Collectives that an engine does faster than messages could. Found by Endpoint::collectives(). An
// endpoint that changes messages on their way (comm/faulty/) has none; callers then use messages.
// As in Endpoint, a lost peer is a value, and no wait exceeds its deadline.
class VECHE_MODULE_API EngineCollectives {
 public:
  virtual ~EngineCollectives() = default;

  struct Outcome {
    Received::Outcome outcome = Received::Outcome::timed_out;  // `message`: success
    NodeId missing;                                            // the peer that was lost or did not come
    Traffic sent;                                              // counted instead of messages
    Time waited{0};                                            // part of the elapsed time
  };

  // Replaces the data of every node by their sum, the same bits on every node. All nodes call it
  // with the same tag and length.
  virtual Outcome all_reduce(Tag tag, std::span<float> data, Time deadline) = 0;

  // Whether a sum makes progress while nodes compute. If so, all nodes may call `begin_all_reduce`
  // first, in the same order of tags; the data must not change until `all_reduce` has returned.
  virtual bool overlaps() const { return false; }
  virtual void begin_all_reduce(Tag /*tag*/, std::span<float> /*data*/) {}

  // An exchange that sends a vector of this length to every reader and receives one from every
  // source, again and again; null where messages are as fast. All nodes call it, in the same order.
  virtual std::unique_ptr<Neighbourhood> neighbourhood(std::span<const NodeId> sources,
                                                       std::span<const NodeId> readers, std::size_t length);

  // Whether all nodes are threads of this process and may read each other's memory.
  virtual bool one_process() const { return false; }

  // Whether nodes are on several hosts, so that the network is the bottleneck.
  virtual bool between_hosts() const { return false; }

  // Memory shared by all nodes, one block per tag, zero at first; empty where nodes share none.
  // Lives as long as any endpoint.
  virtual std::span<std::byte> shared_memory(Tag /*tag*/, std::size_t /*bytes*/) { return {}; }
};

// The same over a channel: throws PeerLost, and counts the traffic.
void engine_all_reduce(Channel& channel, EngineCollectives& engine, std::span<float> data);

}  // namespace veche
