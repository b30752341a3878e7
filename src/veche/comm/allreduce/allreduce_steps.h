#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "veche/channel.h"
#include "veche/comm/allreduce/wire.h"
#include "veche/vector_math.h"

namespace veche {

// One algorithm of comm/allreduce/allreduce.h: its two moments, for at least two nodes. Nothing is remembered
// in between. Without a wire floats travel as they are.
struct AllReduceSteps {
  void (*begin)(Channel&, std::span<float>, Wire*);
  void (*complete)(Channel&, std::span<float>, Wire*);
  // An algorithm that waits many times for a neighbour completes in rounds, so that another sum's can be done
  // in the meantime; none: it completes at once.
  int (*rounds)(int nodes) = nullptr;
  void (*round)(Channel&, std::span<float>, Wire*, int round) = nullptr;
};

// One function an algorithm, each in the file of its name.
AllReduceSteps all_to_all_steps();
AllReduceSteps tree_steps();
AllReduceSteps ring_steps();
AllReduceSteps halving_doubling_steps();
AllReduceSteps native_steps();

inline Message written(Channel& channel, Wire* wire, std::span<const float> data) {
  return wire == nullptr ? channel.pool.copy_of(data) : wire->write(data);
}
inline void add_received(Wire* wire, std::span<float> into, const Message& message, NodeId from) {
  wire == nullptr ? add(into, message.as<float>()) : wire->add(into, message, from);
}
inline void read_received(Wire* wire, std::span<float> into, const Message& message, NodeId from) {
  if (wire != nullptr) return wire->read(into, message, from);
  std::ranges::copy(message.as<float>(), into.begin());
}
// A sum that is finished: who has it reads it as the others will.
inline Message written_finished(Channel& channel, Wire* wire, std::span<float> data) {
  Message message = written(channel, wire, data);
  if (wire != nullptr) wire->read(data, message, channel.me());
  return message;
}

// data <- the sum of everybody's, in the order of nodes: received[i] is node i's, and at `me` stands the data
// itself.
void sum_in_order(std::span<float> data, std::span<const Message> received, int me, Wire* wire);

// Receives from every other node, in any order of arrival; the item of this node stays empty.
std::vector<Message> expect_all(Channel& channel);

}  // namespace veche
