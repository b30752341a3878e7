#pragma once

#include <functional>

#include "veche/comm/cluster.h"

namespace veche::testing {

// The suite runs on this job, which the program has joined.
extern Job* job;
// Whether its nodes add up by messages, in the order of the threads engine, and have its bits.
extern bool sums_by_messages;

// All tests of this program; rank 0 alone speaks. What RUN_ALL_TESTS returns.
int run_over(Job& joined);

// One node a rank that does something with its endpoint.
void on_every_rank(const std::function<void(Endpoint&, MessagePool&)>& body);
// `body` for every node, with so many a rank and one slot.
void on_every_node(const std::function<void(Endpoint&)>& body, int nodes_per_rank = 2);

}  // namespace veche::testing
