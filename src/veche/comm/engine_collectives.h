#pragma once

#include <memory>
#include <span>

#include "veche/base/module/module_api.h"
#include "veche/channel.h"

namespace veche {

class Neighbourhood;  // comm/neighbourhood.h

// Collectives that an engine does better than messages could. Found by Endpoint::collectives();
// an endpoint that changes what happens on the way (comm/faulty/) has none, and callers then use messages. As
// an endpoint's methods: losing a peer is a value, and no wait is longer than its deadline.
class VECHE_MODULE_API EngineCollectives {
 public:
  virtual ~EngineCollectives() = default;

  struct Outcome {
    Received::Outcome outcome = Received::Outcome::timed_out;  // `message`: it is done
    NodeId missing;                                            // who was lost or did not come
    Traffic sent;                                              // what it counts as
    Time waited{0};                                            // of the time it took
  };

  // Everybody's data become their sum, the same bits on every node. All nodes call it with the same tag and
  // length.
  virtual Outcome all_reduce(Tag tag, std::span<float> data, Time deadline) = 0;

  // Whether a sum makes progress while nodes compute. If so, `begin_all_reduce` may be called before, by all
  // nodes and in the same order of tags on each; the data must not change until `all_reduce` has returned.
  virtual bool overlaps() const { return false; }
  virtual void begin_all_reduce(Tag /*tag*/, std::span<float> /*data*/) {}

  // What sends a vector of this length to every reader and gets one from every source, over and over; null
  // where messages do it as well. All nodes call it, in the same order if several times.
  virtual std::unique_ptr<Neighbourhood> neighbourhood(std::span<const NodeId> sources,
                                                       std::span<const NodeId> readers, std::size_t length);

  // Whether all nodes are threads of this process, where one may read what another still has.
  virtual bool one_process() const { return false; }

  // Whether nodes are on several hosts, where a network is what takes the time.
  virtual bool between_hosts() const { return false; }

  // Memory that all nodes see, the same for the same tag, zero at first; empty where nodes share none. Lives
  // as long as any endpoint.
  virtual std::span<std::byte> shared_memory(Tag /*tag*/, std::size_t /*bytes*/) { return {}; }
};

// The same for a channel: throws PeerLost and counts what was sent.
void engine_all_reduce(Channel& channel, EngineCollectives& engine, std::span<float> data);

}  // namespace veche
