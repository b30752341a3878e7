#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "veche/channel.h"
#include "veche/comm/allreduce/wire.h"
#include "veche/packed.h"
#include "veche/vector_math.h"

namespace veche {

// One algorithm of comm/allreduce/allreduce.h, in two moments, for at least two nodes. Nothing is
// kept in between. Without a wire, floats are sent as they are.
struct AllReduceSteps {
  void (*begin)(Channel&, std::span<float>, Wire*);
  void (*complete)(Channel&, std::span<float>, Wire*);
  // An algorithm that waits many times for a neighbour completes in rounds, so that the rounds of
  // several sums can alternate; null: it completes at once.
  int (*rounds)(int nodes) = nullptr;
  void (*round)(Channel&, std::span<float>, Wire*, int round) = nullptr;
};

// One function per algorithm, each in the file of its name.
AllReduceSteps all_to_all_steps();
AllReduceSteps tree_steps();
AllReduceSteps ring_steps();
AllReduceSteps halving_doubling_steps();
AllReduceSteps native_steps();

inline Message written(Channel& channel, Wire* wire, std::span<const float> data) {
  return wire == nullptr ? channel.pool.copy_of(data) : wire->write(data);
}
// The floats of a message that must have `length` of them.
inline std::span<const float> floats_in(const Channel& channel, const Message& message, std::size_t length,
                                        NodeId from) {
  return unpack_items<float>(message, length, channel.endpoint.known_as(from), "part of a vector");
}
inline void add_received(const Channel& channel, Wire* wire, std::span<float> into, const Message& message,
                         NodeId from) {
  if (wire != nullptr) return wire->add(into, message, from);
  add(into, floats_in(channel, message, into.size(), from));
}
inline void read_received(const Channel& channel, Wire* wire, std::span<float> into, const Message& message,
                          NodeId from) {
  if (wire != nullptr) return wire->read(into, message, from);
  std::ranges::copy(floats_in(channel, message, into.size(), from), into.begin());
}
// For a message that is forwarded before it is read: the error names the node that sent it first.
inline void check_received(const Channel& channel, const Wire* wire, std::size_t length,
                           const Message& message, NodeId from) {
  if (wire != nullptr) return wire->check(length, message, from);
  floats_in(channel, message, length, from);
}
// A finished sum: this node decodes it exactly as its readers will.
inline Message written_finished(Channel& channel, Wire* wire, std::span<float> data) {
  Message message = written(channel, wire, data);
  if (wire != nullptr) wire->read(data, message, channel.me());
  return message;
}

// data <- the sum over all nodes, in the order of nodes. received[i] is from node i; the data
// stands for this node's.
void sum_in_order(const Channel& channel, std::span<float> data, std::span<const Message> received,
                  Wire* wire);

// Receives one message from every other node; the item of this node stays empty.
std::vector<Message> expect_all(Channel& channel);

}  // namespace veche
