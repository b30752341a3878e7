#pragma once

#include <optional>

#include "veche/comm/grid/grid.h"
#include "veche/runtime/checkpoint/member_checkpoints.h"
#include "veche/runtime/run/member_nodes.h"
#include "veche/runtime/run/member_plan.h"
#include "veche/runtime/run/session.h"

namespace veche {

// A member that returns: puts its nodes where the newest checkpoint in its folder left them, and
// returns the epochs made until then, unless they are not known. Without a checkpoint the nodes
// have no state. Throws RequestError where the checkpoint does not fit.
std::optional<EpochCount> resume_member(const grid::Grid& grid, const MemberPlan& plan, MemberNodes& nodes,
                                        MemberCheckpoints& checkpoints, TrainingSession& session);

// Saves what this member has, without the others: it leaves, or it cannot go on.
void save_member(const MemberNodes& nodes, MemberCheckpoints& checkpoints);

}  // namespace veche
