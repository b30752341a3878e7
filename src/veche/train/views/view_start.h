#pragma once

#include <string>

#include "veche/channel.h"
#include "veche/comm/views.h"
#include "veche/train/views/node_self.h"

namespace veche {

// Whether all nodes have the same model at every step.
bool equal_models(const TrainingPlan& plan);

// How a node stands after a view, or before its first one.
NodeStatus status_of(NodeSelf& self);

// A view begins: collective over all its nodes, on a conversation of its own. Brings this node to the view's
// first step. Where something is shared, who has it not as the others do takes theirs, and all then compare;
// where models are each node's own, only who has none takes somebody's, and who is behind ends its step by
// itself. All agree on what
// was cut off before and is to be done first. Returns what people should know, a sentence, or nothing.
// Throws ViewChanged or PeerLost like any wait: what was fetched is kept.
std::string start_view(NodeSelf& self, Channel& channel, const View& view, const TrainingPlan& plan);

// The same where nobody is waited for: each node goes on with the model that it has, at its own step. Throws
// RunError where nobody has one; whoever lacks it has to catch up before.
void go_on_in_view(NodeSelf& self, const View& view);

}  // namespace veche
