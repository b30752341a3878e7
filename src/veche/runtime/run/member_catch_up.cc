#include "veche/runtime/run/member_catch_up.h"

#include <fmt/format.h>

#include "veche/runtime/run/grid_donors.h"
#include "veche/train/views/catch_up.h"

namespace veche {

void catch_up_member(grid::Grid& grid, const MemberPlan& plan, MemberNodes& nodes, TrainingSession& session) {
  if (plan.shared_state() == Shared::nothing && nodes.first_self().has_state) return;
  fetch_state(grid, plan, nodes, session);
}

void fetch_state(grid::Grid& grid, const MemberPlan& plan, MemberNodes& nodes, TrainingSession& session) {
  GridDonors donors(grid, session.interrupted());
  if (!donors.wait_for_one()) return;
  MemberState& self = nodes.first_self();
  const CaughtUp caught = catch_up(self, donors, plan.shared_state());
  if (caught.of > 0)
    session.notice(fmt::format(
        "fetched {} of {} pieces of step {} from {} member{} while they trained, and is at step {} now{}",
        caught.pieces, caught.of, caught.copied, caught.donors, caught.donors == 1 ? "" : "s", self.step,
        caught.done ? "" : ": the rest is fetched in its first view"));
  for (const auto& part : nodes.all()) part->self().is_new = caught.done;
  if (self.has_state) nodes.copy_first_state();
}

}  // namespace veche
