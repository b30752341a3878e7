#include "veche/train/compression/power_edges.h"

#include <algorithm>

namespace veche {

PowerEdges::PowerEdges(Coder& coder, Channel& channel, const StreamShape& shape,
                       std::span<const NodeId> neighbours)
    : coder_(coder), channel_(channel) {
  const auto me = static_cast<std::uint64_t>(channel.me().value);
  for (const NodeId neighbour : neighbours) {
    const auto other = static_cast<std::uint64_t>(neighbour.value);
    StreamShape edge = shape;
    edge.sender = (std::min(me, other) << 32U) + std::max(me, other);
    ends_.emplace(neighbour, End{PowerGossip(static_cast<int>(coder.how().spec.amount), edge, me < other)});
  }
}

void PowerEdges::mix(std::span<const Edge> edges, std::span<float> x) {
  for (const Edge& edge : edges) {
    End& end = ends_.at(edge.to);
    Message code = coder_.timed([&] { return end.gossip.encode(x, end.round++, channel_.pool); });
    coder_.count(x.size() * sizeof(float), code.size());
    channel_.send(edge.to, std::move(code));
  }
  for (const Edge& edge : edges) {
    const Message theirs = channel_.expect(edge.to);
    try {
      coder_.timed(
          [&] { ends_.at(edge.to).gossip.move(theirs.bytes(), static_cast<float>(edge.weight), x); });
    } catch (const DamagedCode& damage) {
      blame(channel_.endpoint.known_as(edge.to), damage);
    }
  }
}

void PowerEdges::add_state(SavedState& state) {
  for (auto& [neighbour, end] : ends_) {
    append(state, end.gossip.state());
    state.numbers.push_back(&end.round);
  }
}

}  // namespace veche
