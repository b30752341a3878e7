#pragma once

#include <span>

#include "veche/channel.h"

namespace veche {

// One algorithm of comm/allreduce/allreduce.h: its two moments, for at least two nodes. Nothing is remembered
// in between.
struct AllReduceSteps {
  void (*begin)(Channel&, std::span<float>);
  void (*complete)(Channel&, std::span<float>);
  // An algorithm that waits many times for a neighbour completes in rounds, so that another sum's can be done
  // in the meantime; none: it completes at once.
  int (*rounds)(int nodes) = nullptr;
  void (*round)(Channel&, std::span<float>, int round) = nullptr;
};

// One function an algorithm, each in the file of its name.
AllReduceSteps all_to_all_steps();
AllReduceSteps tree_steps();
AllReduceSteps ring_steps();
AllReduceSteps halving_doubling_steps();
AllReduceSteps native_steps();

// data <- the sum of everybody's, in the order of nodes: received[i] is node i's, and at `me` stands the data
// itself.
void sum_in_order(std::span<float> data, std::span<const Message> received, int me);

// Receives from every other node, in any order of arrival; the item of this node stays empty.
std::vector<Message> expect_all(Channel& channel);

}  // namespace veche
