#pragma once

#include <optional>

#include "veche/comm/grid/grid.h"
#include "veche/runtime/run/member_nodes.h"
#include "veche/runtime/run/member_plan.h"
#include "veche/runtime/run/session.h"
#include "veche/train/views/run_end_message.h"

namespace veche {

// Asks the members of the present view whether the run has ended. Nothing: no member says so.
std::optional<EndOfRun> ask_for_end(grid::Grid& grid);

// For a member that the run has ended without: fetches the final model and leaves the grid. `step`
// is the last one of the run. Throws RunError where no member has the model any more.
EndOfRun fetch_final_model(grid::Grid& grid, std::uint64_t step, const MemberPlan& plan, MemberNodes& nodes,
                           TrainingSession& session);

}  // namespace veche
