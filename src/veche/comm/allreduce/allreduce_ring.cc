#include "veche/comm/allreduce/allreduce_steps.h"
#include "veche/comm/parts.h"

namespace veche {
namespace {

// Long vectors are several short ones, each with parts of its own: while the one's part is on its way the
// other's is added up, and the links never rest.
constexpr std::size_t kSegment = std::size_t{1} << 18;  // floats
// On a wire messages are short enough for networks to send them without asking the receiver first, 64 KB as a
// rule: on a slow link the answer would wait behind what is on its way.
constexpr std::size_t kUnasked = 24'000;  // floats that become two bytes each

int segments(const Channel& channel, std::size_t floats, const Wire* wire) {
  const std::size_t longest = kUnasked * static_cast<std::size_t>(channel.size());
  const std::size_t count = wire == nullptr ? floats / kSegment : (floats + longest - 1) / longest;
  return static_cast<int>(std::max<std::size_t>(1, count));
}

template <class Do>
void for_segments(const Channel& channel, std::span<float> data, const Wire* wire, Do with) {
  const int count = segments(channel, data.size(), wire);
  for (int k = 0; k < count; ++k) with(part_of(data, count, k));
}

// Each part travels once round the ring and is added to on the way, then once more to be copied.
std::span<float> part(const Channel& channel, std::span<float> data, int k) {
  return part_of(data, channel.size(), wrapped(k, channel.size()).value);
}

void begin_ring(Channel& channel, std::span<float> data, Wire* wire) {
  const int me = channel.me().value;
  for_segments(channel, data, wire, [&](std::span<float> segment) {
    channel.send(wrapped(me + 1, channel.size()), written(channel, wire, part(channel, segment, me)));
  });
}

int rounds(int nodes) { return 2 * (nodes - 1); }

void segment_round(Channel& channel, std::span<float> data, Wire* wire, int round) {
  const int size = channel.size();
  const int me = channel.me().value;
  const NodeId from = wrapped(me - 1, size);
  const Message received = channel.expect(from);
  if (round < size - 1) {
    const std::span<float> added = part(channel, data, me - round - 1);
    add_received(channel, wire, added, received, from);
    channel.send(wrapped(me + 1, size),
                 round == size - 2 ? written_finished(channel, wire, added) : written(channel, wire, added));
    return;
  }
  // What arrives is finished: it is read here and passed on as it is.
  const int copied = round - (size - 1);
  if (copied < size - 2) channel.send(wrapped(me + 1, size), received);
  read_received(channel, wire, part(channel, data, me - copied), received, from);
}

void one_round(Channel& channel, std::span<float> data, Wire* wire, int round) {
  for_segments(channel, data, wire,
               [&](std::span<float> segment) { segment_round(channel, segment, wire, round); });
}

void complete_ring(Channel& channel, std::span<float> data, Wire* wire) {
  for (int round = 0; round < rounds(channel.size()); ++round) one_round(channel, data, wire, round);
}

}  // namespace

AllReduceSteps ring_steps() { return {begin_ring, complete_ring, rounds, one_round}; }

}  // namespace veche
