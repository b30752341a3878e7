#include "veche/comm/collectives.h"

#include <algorithm>

#include "veche/base/vector_math.h"

namespace veche {
namespace {

NodeId wrapped(int node, int size) { return NodeId{((node % size) + size) % size}; }

// Where part k of n begins; parts differ by at most one item, the larger ones first.
std::size_t part_start(std::size_t items, int parts, int k) {
  const auto n = static_cast<std::size_t>(parts);
  const auto at = static_cast<std::size_t>(k);
  return items / n * at + std::min(at, items % n);
}

}  // namespace

void barrier(Channel& channel) {
  // Dissemination: after the round with distance d, a node has heard, directly or not, from the 2d-1 before it.
  for (int distance = 1; distance < channel.size(); distance *= 2) {
    channel.send(wrapped(channel.me().value + distance, channel.size()), channel.pool.make(0));
    channel.expect(wrapped(channel.me().value - distance, channel.size()));
  }
}

void broadcast(Channel& channel, NodeId root, std::span<float> data) {
  // A binomial tree over the distance from the root: receive from the one that differs in the lowest set bit, then
  // pass on to those that differ in a lower bit.
  const int size = channel.size();
  const int rank = wrapped(channel.me().value - root.value, size).value;
  int bit = 1;
  while (bit < size && (rank & bit) == 0) bit *= 2;
  Message message;
  if (rank == 0) {
    message = channel.pool.copy_of(std::span<const float>(data));
  } else {
    message = channel.expect(wrapped(rank - bit + root.value, size));
    std::ranges::copy(message.as<float>(), data.begin());
  }
  for (bit /= 2; bit > 0; bit /= 2)
    if (rank + bit < size) channel.send(wrapped(rank + bit + root.value, size), message);
}

std::vector<Message> all_gather(Channel& channel, Message mine) {
  const int size = channel.size();
  const int me = channel.me().value;
  std::vector<Message> all(static_cast<std::size_t>(size));
  // Straight to everybody: items are small, and one hop is quicker than a ring of size-1.
  for (int away = 1; away < size; ++away) channel.send(wrapped(me + away, size), mine);
  for (int away = 1; away < size; ++away) {
    const NodeId from = wrapped(me - away, size);
    all[static_cast<std::size_t>(from.value)] = channel.expect(from);
  }
  all[static_cast<std::size_t>(me)] = std::move(mine);
  return all;
}

void all_reduce(Channel& channel, std::span<float> data) {
  const int size = channel.size();
  const int me = channel.me().value;
  if (size == 1) return;
  const NodeId next = wrapped(me + 1, size);
  const NodeId previous = wrapped(me - 1, size);
  const auto part = [&](int k) {
    const int index = wrapped(k, size).value;
    const std::size_t from = part_start(data.size(), size, index);
    return data.subspan(from, part_start(data.size(), size, index + 1) - from);
  };
  const auto send_part = [&](int k) { channel.send(next, channel.pool.copy_of(std::span<const float>(part(k)))); };

  for (int round = 0; round < size - 1; ++round) {
    send_part(me - round);
    add(part(me - round - 1), channel.expect(previous).as<float>());
  }
  send_part(me + 1);
  for (int round = 0; round < size - 1; ++round) {
    // What arrives is finished: it is read here and passed on as it is.
    const Message finished = channel.expect(previous);
    std::ranges::copy(finished.as<float>(), part(me - round).begin());
    if (round < size - 2) channel.send(next, finished);
  }
}

}  // namespace veche
