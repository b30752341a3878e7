#include "veche/collectives.h"

#include <algorithm>
#include <functional>

#include "veche/comm/broadcast.h"
#include "veche/comm/parts.h"

namespace veche {
namespace {

Message broadcast_by(Channel& channel, NodeId root, Message message,
                     const std::function<Message(NodeId from)>& expect) {
  // A binomial tree over the distance from the root: receive from the node that differs in the
  // lowest set bit, then send to the nodes that differ in a lower bit.
  const int size = channel.size();
  const int rank = wrapped(channel.me().value - root.value, size).value;
  int bit = 1;
  while (bit < size && (rank & bit) == 0) bit *= 2;
  if (rank != 0) message = expect(wrapped(rank - bit + root.value, size));
  for (bit /= 2; bit > 0; bit /= 2)
    if (rank + bit < size) channel.send(wrapped(rank + bit + root.value, size), message);
  return message;
}

}  // namespace

void barrier(Channel& channel) {
  // Dissemination: after the round with distance d, a node knows that the 2d-1 nodes before it have
  // arrived.
  for (int distance = 1; distance < channel.size(); distance *= 2) {
    channel.send(wrapped(channel.me().value + distance, channel.size()), channel.pool.make(0));
    channel.expect(wrapped(channel.me().value - distance, channel.size()));
  }
}

Message broadcast(Channel& channel, NodeId root, Message message,
                  const std::function<void(NodeId from, const Message& message)>& take) {
  return broadcast_by(channel, root, std::move(message), [&](NodeId from) {
    Message told = channel.expect(from);
    take(from, told);
    return told;
  });
}

Message broadcast(Channel& channel, NodeId root, Message message, std::size_t bytes) {
  return broadcast_by(channel, root, std::move(message),
                      [&](NodeId from) { return channel.expect(from, bytes); });
}

void broadcast(Channel& channel, NodeId root, std::span<float> data) {
  const bool mine = channel.me() == root;
  const Message told =
      broadcast(channel, root, mine ? channel.pool.copy_of(std::span<const float>(data)) : Message{},
                data.size_bytes());
  if (!mine) std::ranges::copy(told.as<float>(), data.begin());
}

std::vector<Message> all_gather(Channel& channel, Message mine) {
  const int size = channel.size();
  const int me = channel.me().value;
  std::vector<Message> all(static_cast<std::size_t>(size));
  // Directly to all: items are small, and one hop is faster than a ring of size-1.
  for (int away = 1; away < size; ++away) channel.send(wrapped(me + away, size), mine);
  for (int away = 1; away < size; ++away) {
    const NodeId from = wrapped(me - away, size);
    all[static_cast<std::size_t>(from.value)] = channel.expect(from);
  }
  all[static_cast<std::size_t>(me)] = std::move(mine);
  return all;
}

}  // namespace veche
