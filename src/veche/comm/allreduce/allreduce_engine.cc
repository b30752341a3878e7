#include "veche/comm/allreduce/allreduce_steps.h"
#include "veche/comm/engine_collectives.h"
#include "veche/comm/parts.h"

namespace veche {
namespace {

EngineCollectives* engine_of(Channel& channel, const Wire* wire) {
  return wire == nullptr ? channel.endpoint.collectives() : nullptr;
}

// Without an engine's own collective: node i gets part i from everybody, adds up in the order of nodes, and
// sends the sum to everybody. The same bits and bytes as between threads, so that decorating an endpoint
// changes no result.
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

// Another sum's parts may arrive while this one's sums are on their way.
int native_rounds(int) { return 2; }

void native_round(Channel& channel, std::span<float> data, Wire* wire, int round) {
  if (EngineCollectives* native = engine_of(channel, wire)) {
    if (round == 0) engine_all_reduce(channel, *native, data);
    return;
  }
  const int size = channel.size();
  const int me = channel.me().value;
  if (round == 0) {
    const std::span<float> mine = part_of(data, size, me);
    sum_in_order(mine, expect_all(channel), me, wire);
    const Message sum = written_finished(channel, wire, mine);
    for (int away = 1; away < size; ++away) channel.send(wrapped(me + away, size), sum);
    return;
  }
  const std::vector<Message> sums = expect_all(channel);
  for (int node = 0; node < size; ++node)
    if (node != me)
      read_received(wire, part_of(data, size, node), sums[static_cast<std::size_t>(node)], NodeId{node});
}

void complete_native(Channel& channel, std::span<float> data, Wire* wire) {
  for (int round = 0; round < native_rounds(channel.size()); ++round)
    native_round(channel, data, wire, round);
}

}  // namespace

AllReduceSteps native_steps() { return {begin_native, complete_native, native_rounds, native_round}; }

}  // namespace veche
