#pragma once

#include "veche/comm/grid/grid.h"
#include "veche/runtime/run/member_nodes.h"
#include "veche/runtime/run/member_plan.h"
#include "veche/runtime/run/session.h"

namespace veche {

// Brings a member that is in no view yet to where the others are, while they continue to train.
// What it cannot fetch in this way comes in its first view. Does nothing where each node has a
// model of its own and this member has its model.
void catch_up_member(grid::Grid& grid, const MemberPlan& plan, MemberNodes& nodes, TrainingSession& session);

// The same wherever the member's state comes from.
void fetch_state(grid::Grid& grid, const MemberPlan& plan, MemberNodes& nodes, TrainingSession& session);

}  // namespace veche
