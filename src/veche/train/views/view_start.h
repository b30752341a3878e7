#pragma once

#include <string>

#include "veche/channel.h"
#include "veche/comm/views.h"
#include "veche/train/views/member_state.h"

namespace veche {

// Whether all nodes have equal models at every step.
bool equal_models(const TrainingPlan& plan);

// The status of a node after a view, or before its first one.
NodeStatus status_of(MemberState& self);

// Begins a view: collective over all its nodes, on a channel of its own. Brings this node to the
// view's first step. A node whose shared state differs copies the others', and all then compare. If
// models are each node's own, only a node without a model copies one, and a node that is behind
// completes its step alone. All agree on the evaluation or checkpoint that the last view cut off.
// Returns a sentence for people, or nothing. Throws ViewChanged or PeerLost like any wait; the
// pieces that were fetched are kept.
std::string start_view(MemberState& self, Channel& channel, const View& view, const TrainingPlan& plan);

// The same for asynchronous strategies: each node goes on with its model, at its own step. Throws
// RunError if no node has a model. A node without one has to catch up before.
void continue_in_view(MemberState& self, const View& view);

}  // namespace veche
