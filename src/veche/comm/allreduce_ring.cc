#include "veche/base/vector_math.h"
#include "veche/comm/allreduce_steps.h"
#include "veche/comm/parts.h"

namespace veche {
namespace {

// Each part travels once round the ring and is added to on the way, then once more to be copied.
std::span<float> part(const Channel& channel, std::span<float> data, int k) {
  return part_of(data, channel.size(), wrapped(k, channel.size()).value);
}

void send_part(Channel& channel, std::span<float> data, int k) {
  channel.send(wrapped(channel.me().value + 1, channel.size()),
               channel.pool.copy_of(std::span<const float>(part(channel, data, k))));
}

void begin(Channel& channel, std::span<float> data) { send_part(channel, data, channel.me().value); }

void complete(Channel& channel, std::span<float> data) {
  const int size = channel.size();
  const int me = channel.me().value;
  const NodeId previous = wrapped(me - 1, size);
  for (int round = 0; round < size - 1; ++round) {
    add(part(channel, data, me - round - 1), channel.expect(previous).as<float>());
    send_part(channel, data, me - round - 1);  // the last one is finished
  }
  for (int round = 0; round < size - 1; ++round) {
    // What arrives is finished: it is read here and passed on as it is.
    const Message finished = channel.expect(previous);
    std::ranges::copy(finished.as<float>(), part(channel, data, me - round).begin());
    if (round < size - 2) channel.send(wrapped(me + 1, size), finished);
  }
}

}  // namespace

AllReduceSteps ring_steps() { return {begin, complete}; }

}  // namespace veche
