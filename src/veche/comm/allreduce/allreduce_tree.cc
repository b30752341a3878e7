#include "veche/comm/allreduce/allreduce_steps.h"
#include "veche/comm/broadcast.h"

namespace veche {
namespace {

// Sums go down a binomial tree to node 0, which broadcasts the result up the same tree. A node's
// parent differs in its lowest set bit, its children in the bits below.
void send_to_parent(Channel& channel, std::span<float> data, Wire* wire) {
  const int me = channel.me().value;
  channel.send(NodeId{me & (me - 1)}, written(channel, wire, data));
}

bool is_leaf(const Channel& channel) { return channel.me().value % 2 == 1; }

void begin_tree(Channel& channel, std::span<float> data, Wire* wire) {
  if (is_leaf(channel)) send_to_parent(channel, data, wire);
}

void complete_tree(Channel& channel, std::span<float> data, Wire* wire) {
  const int me = channel.me().value;
  const int size = channel.size();
  for (int bit = 1; (me & bit) == 0 && bit < size; bit *= 2)
    if (me + bit < size)
      add_received(channel, wire, data, channel.expect(NodeId{me + bit}), NodeId{me + bit});
  if (me != 0 && !is_leaf(channel)) send_to_parent(channel, data, wire);
  Message sum = me == 0 ? written_finished(channel, wire, data) : Message{};
  sum = broadcast(channel, NodeId{0}, std::move(sum), [&](NodeId from, const Message& told) {
    check_received(channel, wire, data.size(), told, from);
  });
  if (me != 0) read_received(channel, wire, data, sum, NodeId{0});
}

}  // namespace

AllReduceSteps tree_steps() { return {begin_tree, complete_tree}; }

}  // namespace veche
