#include <bit>

#include "veche/comm/allreduce/allreduce_steps.h"
#include "veche/comm/parts.h"

namespace veche {
namespace {

// The core is the largest power of two of nodes. The other nodes first fold their data into a core
// node's, and receive the result from it at the end. In the core, partners at halving distances
// exchange halves of their remaining parts until every node has the sum of one part; then the same
// way back.
struct Core {
  explicit Core(const Channel& channel)
      : nodes(static_cast<int>(std::bit_floor(static_cast<unsigned>(channel.size())))),
        me(channel.me().value),
        folded(channel.size() - nodes) {}

  bool outside() const { return me >= nodes; }
  bool has_folded() const { return me < folded; }  // a node outside the core depends on this node
  NodeId other_end() const { return NodeId{outside() ? me - nodes : me + nodes}; }

  const int nodes;
  const int me;
  const int folded;
};

void send(Channel& channel, NodeId to, std::span<const float> data, Wire* wire) {
  channel.send(to, written(channel, wire, data));
}

// The core parts that a node is responsible for while partners are `distance` apart: those that
// agree with it in all higher bits. `mine`: the half that it keeps, or the half that it gives to
// its partner.
std::span<float> half(const Core& core, std::span<float> data, int distance, bool mine) {
  const int bits = mine ? core.me : core.me ^ distance;
  const int from = bits / distance * distance;
  return parts_of(data, core.nodes, from, from + distance);
}

void send_half(Channel& channel, const Core& core, std::span<float> data, int distance, Wire* wire) {
  send(channel, NodeId{core.me ^ distance}, half(core, data, distance, false), wire);
}

void begin_halving_doubling(Channel& channel, std::span<float> data, Wire* wire) {
  const Core core(channel);
  if (core.outside()) return send(channel, core.other_end(), data, wire);
  if (!core.has_folded()) send_half(channel, core, data, core.nodes / 2, wire);
}

void complete_halving_doubling(Channel& channel, std::span<float> data, Wire* wire) {
  const Core core(channel);
  if (core.outside()) {
    return read_received(channel, wire, data, channel.expect(core.other_end()), core.other_end());
  }
  const int widest = core.nodes / 2;
  if (core.has_folded()) {
    add_received(channel, wire, data, channel.expect(core.other_end()), core.other_end());
    send_half(channel, core, data, widest, wire);
  }
  for (int distance = widest; distance > 0; distance /= 2) {
    const NodeId partner{core.me ^ distance};
    if (distance != widest) send_half(channel, core, data, distance, wire);
    add_received(channel, wire, half(core, data, distance, true), channel.expect(partner), partner);
  }
  for (int distance = 1; distance <= widest; distance *= 2) {
    const NodeId partner{core.me ^ distance};
    const std::span<float> finished = half(core, data, distance, true);
    channel.send(partner, distance == 1 ? written_finished(channel, wire, finished)
                                        : written(channel, wire, finished));
    read_received(channel, wire, half(core, data, distance, false), channel.expect(partner), partner);
  }
  if (core.has_folded()) send(channel, core.other_end(), data, wire);
}

}  // namespace

AllReduceSteps halving_doubling_steps() { return {begin_halving_doubling, complete_halving_doubling}; }

}  // namespace veche
