#include "veche/comm/allreduce/allreduce_steps.h"
#include "veche/comm/engine_collectives.h"
#include "veche/comm/parts.h"

namespace veche {
namespace {

EngineCollectives* engine_of(Channel& channel, const Wire* wire) {
  return wire == nullptr ? channel.endpoint.collectives() : nullptr;
}

// Without an engine's own collective: node i receives part i from every node, adds up in node
// order, and sends the sum to every node. Same bits and bytes as between threads, so that
// decorating an endpoint changes no result.
void begin_native(Channel& channel, std::span<float> data, Wire* wire) {
  if (EngineCollectives* native = engine_of(channel, wire)) {
    if (native->overlaps()) native->begin_all_reduce(channel.tag, data);
    return;
  }
  const int size = channel.size();
  for (int away = 1; away < size; ++away) {
    const NodeId to = wrapped(channel.me().value + away, size);
    channel.send(to, written(channel, wire, part_of(data, size, to.value)));
  }
}

void complete_native(Channel& channel, std::span<float> data, Wire* wire) {
  if (EngineCollectives* native = engine_of(channel, wire)) return engine_all_reduce(channel, *native, data);
  const int size = channel.size();
  const int me = channel.me().value;
  const std::span<float> mine = part_of(data, size, me);
  sum_in_order(channel, mine, expect_all(channel), wire);
  const Message sum = written_finished(channel, wire, mine);
  for (int away = 1; away < size; ++away) channel.send(wrapped(me + away, size), sum);
  const std::vector<Message> sums = expect_all(channel);
  for (int node = 0; node < size; ++node)
    if (node != me)
      read_received(channel, wire, part_of(data, size, node), sums[static_cast<std::size_t>(node)],
                    NodeId{node});
}

}  // namespace

AllReduceSteps native_steps() { return {begin_native, complete_native}; }

}  // namespace veche
