#include "veche/collectives.h"

#include <algorithm>

#include "veche/comm/allreduce/allreduce.h"
#include "veche/comm/parts.h"
#include "veche/comm/pass_on.h"

namespace veche {

void barrier(Channel& channel) {
  // Dissemination: after the round with distance d, a node has heard, directly or not, from the 2d-1 before
  // it.
  for (int distance = 1; distance < channel.size(); distance *= 2) {
    channel.send(wrapped(channel.me().value + distance, channel.size()), channel.pool.make(0));
    channel.expect(wrapped(channel.me().value - distance, channel.size()));
  }
}

Message pass_on(Channel& channel, NodeId root, Message message) {
  // The tree over the distance from the root: receive from the one that differs in the lowest set bit, then
  // pass on to those that differ in a lower bit.
  const int size = channel.size();
  const int rank = wrapped(channel.me().value - root.value, size).value;
  int bit = 1;
  while (bit < size && (rank & bit) == 0) bit *= 2;
  if (rank != 0) message = channel.expect(wrapped(rank - bit + root.value, size));
  for (bit /= 2; bit > 0; bit /= 2)
    if (rank + bit < size) channel.send(wrapped(rank + bit + root.value, size), message);
  return message;
}

void broadcast(Channel& channel, NodeId root, std::span<float> data) {
  const bool first = channel.me() == root;
  const Message message =
      pass_on(channel, root, first ? channel.pool.copy_of(std::span<const float>(data)) : Message{});
  if (!first) std::ranges::copy(message.as<float>(), data.begin());
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
  all_reduce(channel, data, AllReduceAlgorithm::ring);
}

}  // namespace veche
