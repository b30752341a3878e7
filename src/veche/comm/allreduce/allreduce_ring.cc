#include "veche/comm/allreduce/allreduce_steps.h"
#include "veche/comm/parts.h"

namespace veche {
namespace {

// Long vectors are split into segments with parts of their own: while one segment's part is in
// transit, another's is added up, and the links never idle.
constexpr std::size_t kSegment = std::size_t{1} << 18;  // floats
// With a wire, messages are short enough for an eager send, usually 64 KB: on a slow link, a
// rendezvous reply would wait behind data in transit.
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
  // The received part is final: it is read here and forwarded unchanged.
  const int copied = round - (size - 1);
  const std::span<float> final = part(channel, data, me - copied);
  check_received(channel, wire, final.size(), received, from);
  if (copied < size - 2) channel.send(wrapped(me + 1, size), received);
  read_received(channel, wire, final, received, from);
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
