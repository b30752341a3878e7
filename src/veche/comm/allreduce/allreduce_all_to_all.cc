#include "veche/comm/allreduce/allreduce_steps.h"
#include "veche/comm/parts.h"

namespace veche {
namespace {

// Every node sends everything to every other node; each adds up in node order.
void begin_all_to_all(Channel& channel, std::span<float> data, Wire* wire) {
  const Message mine = written_finished(channel, wire, data);
  for (int away = 1; away < channel.size(); ++away)
    channel.send(wrapped(channel.me().value + away, channel.size()), mine);
}

void complete_all_to_all(Channel& channel, std::span<float> data, Wire* wire) {
  sum_in_order(channel, data, expect_all(channel), wire);
}

}  // namespace

AllReduceSteps all_to_all_steps() { return {begin_all_to_all, complete_all_to_all}; }

}  // namespace veche
