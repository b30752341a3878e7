#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "veche/endpoint.h"

namespace veche {

// What a node has sent to one peer, by the number that people know it by.
struct PeerBytes {
  std::int32_t peer = 0;
  float bytes = 0;
};
// Peers of which that is told. What went to others is in the sum alone: a table for each of ten thousand
// nodes of all others would not fit.
inline constexpr std::size_t kPeersTold = 40;
using BytesByPeer = std::array<PeerBytes, kPeersTold>;  // those that are not there have 0 bytes

// An endpoint that passes everything on and counts the bytes of its messages by peer. What engines do without
// messages (EngineCollectives) is not counted, nor what a node sends to itself.
class CountedEndpoint final : public Endpoint {
 public:
  explicit CountedEndpoint(Endpoint& inner) : inner_(inner) {}  // which outlives it

  BytesByPeer by_peer() const;  // any thread

  NodeId id() const override { return inner_.id(); }
  int size() const override { return inner_.size(); }
  NodeId known_as(NodeId peer) const override { return inner_.known_as(peer); }
  void send(NodeId to, Tag tag, Message message) override;
  Received receive(std::optional<NodeId> from, Tag tag, Time deadline) override {
    return inner_.receive(from, tag, deadline);
  }
  void flush() override { inner_.flush(); }
  Time now() const override { return inner_.now(); }
  bool alive(NodeId peer) const override { return inner_.alive(peer); }
  Traffic sent() const override { return inner_.sent(); }
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
  mutable std::mutex mutex_;   // helpers send too; never held across a call
  std::vector<Count> counts_;  // guarded by the mutex
};

}  // namespace veche
