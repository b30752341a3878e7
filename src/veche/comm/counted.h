#pragma once

#include <array>
#include <vector>

#include "veche/base/thread/mutex.h"
#include "veche/endpoint.h"

namespace veche {

// The bytes that a node has sent to one peer, identified by Endpoint::known_as.
struct PeerBytes {
  std::int32_t peer = 0;
  float bytes = 0;
};
// The number of peers counted one by one. Bytes to other peers are only in the total: a full table
// of peers for each of ten thousand nodes would not fit in memory.
inline constexpr std::size_t kPeersTold = 40;
using BytesByPeer = std::array<PeerBytes, kPeersTold>;  // unused items have 0 bytes

// An endpoint around another that counts bytes by peer. Collectives without messages
// (EngineCollectives) and messages of a node to itself are not counted.
class CountedEndpoint final : public Endpoint {
 public:
  explicit CountedEndpoint(Endpoint& inner) : Endpoint(inner), inner_(inner) {}  // must outlive it

  BytesByPeer by_peer() const;  // any thread

  void send(NodeId to, Tag tag, Message message) override;
  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    return inner_.receive(from, tag, deadline);
  }
  void flush() override { inner_.flush(); }
  Time now() const override { return inner_.now(); }
  bool alive(NodeId peer) const override { return inner_.alive(peer); }
  void spawn(std::function<void()> helper) override { inner_.spawn(std::move(helper)); }
  Time compute(const Work& what, const std::function<void()>& work) override {
    return inner_.compute(what, work);
  }
  EngineCollectives* collectives() override { return inner_.collectives(); }

 private:
  struct Count {
    NodeId to;
    std::uint64_t bytes;
  };
  Endpoint& inner_;
  mutable Mutex mutex_;  // helpers send too; never held across a call
  std::vector<Count> counts_ VECHE_GUARDED_BY(mutex_);
};

}  // namespace veche
