#include "veche/comm/allreduce/allreduce_steps.h"
#include "veche/comm/parts.h"
#include "veche/vector_math.h"

namespace veche {
namespace {

// Long vectors are several short ones, each with parts of its own: while the one's part is on its way the
// other's is added up, and the links never rest.
constexpr std::size_t kSegment = std::size_t{1} << 18;  // floats

template <class Do>
void for_segments(std::span<float> data, Do with) {
  const auto segments = static_cast<int>(std::max<std::size_t>(1, data.size() / kSegment));
  for (int k = 0; k < segments; ++k) with(part_of(data, segments, k));
}

// Each part travels once round the ring and is added to on the way, then once more to be copied.
std::span<float> part(const Channel& channel, std::span<float> data, int k) {
  return part_of(data, channel.size(), wrapped(k, channel.size()).value);
}

void send_part(Channel& channel, std::span<float> data, int k) {
  channel.send(wrapped(channel.me().value + 1, channel.size()),
               channel.pool.copy_of(std::span<const float>(part(channel, data, k))));
}

void begin_ring(Channel& channel, std::span<float> data) {
  for_segments(data, [&](std::span<float> segment) { send_part(channel, segment, channel.me().value); });
}

int rounds(int nodes) { return 2 * (nodes - 1); }

void segment_round(Channel& channel, std::span<float> data, int round) {
  const int size = channel.size();
  const int me = channel.me().value;
  const Message received = channel.expect(wrapped(me - 1, size));
  if (round < size - 1) {
    add(part(channel, data, me - round - 1), received.as<float>());
    send_part(channel, data, me - round - 1);  // the last one is finished
    return;
  }
  // What arrives is finished: it is read here and passed on as it is.
  const int copied = round - (size - 1);
  if (copied < size - 2) channel.send(wrapped(me + 1, size), received);
  std::ranges::copy(received.as<float>(), part(channel, data, me - copied).begin());
}

void one_round(Channel& channel, std::span<float> data, int round) {
  for_segments(data, [&](std::span<float> segment) { segment_round(channel, segment, round); });
}

void complete_ring(Channel& channel, std::span<float> data) {
  for (int round = 0; round < rounds(channel.size()); ++round) one_round(channel, data, round);
}

}  // namespace

AllReduceSteps ring_steps() { return {begin_ring, complete_ring, rounds, one_round}; }

}  // namespace veche
