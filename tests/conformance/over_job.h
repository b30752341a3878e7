#pragma once

#include <functional>

#include "veche/comm/cluster.h"

namespace veche::testing {

// The job, joined by the program, on which the suite runs.
extern Job* job;
// Whether its nodes sum by messages, in the order of the threads engine, with the same bits.
extern bool sums_by_messages;

// Runs all tests of this program; only rank 0 prints. Returns the result of RUN_ALL_TESTS.
int run_over(Job& joined);

// Runs one node per rank with its endpoint.
void on_every_rank(const std::function<void(Endpoint&, MessagePool&)>& body);
// Runs `body` for every node, with this many per rank and one slot.
void on_every_node(const std::function<void(Endpoint&)>& body, int nodes_per_rank = 2);

}  // namespace veche::testing
