#pragma once

#include "veche/comm/grid/grid.h"
#include "veche/runtime/run/member_nodes.h"
#include "veche/runtime/run/member_plan.h"
#include "veche/runtime/run/session.h"

namespace veche {

// Brings a member that is in no view yet to where the others are, while they continue to train.
// What it could not fetch, it fetches in its first view. Does nothing if each node has its own
// model and this member has its model.
void catch_up_member(grid::Grid& grid, const MemberPlan& plan, MemberNodes& nodes, TrainingSession& session);

// The same, also if each node has its own model and this member has its model.
void fetch_state(grid::Grid& grid, const MemberPlan& plan, MemberNodes& nodes, TrainingSession& session);

}  // namespace veche
