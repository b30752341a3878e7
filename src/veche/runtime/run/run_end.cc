#include "veche/runtime/run/run_end.h"

#include <fmt/format.h>

#include "veche/comm/grid/identity/names.h"
#include "veche/errors.h"
#include "veche/runtime/run/member_catch_up.h"

namespace veche {
namespace {

constexpr Time kAnswerLimit{10};
constexpr int kMostFetches = 3;  // of the final model

}  // namespace

std::optional<EndOfRun> ask_for_end(grid::Grid& grid) {
  for (const grid::MemberId& id : grid.donors())
    if (const auto word = grid.fetch(id, "end", 0, grid::kMostOfAPiece, kAnswerLimit);
        word && word->size() > 0)
      return end_in(*word, "member " + grid::short_name(id));
  return {};
}

EndOfRun fetch_final_model(grid::Grid& grid, std::uint64_t step, const MemberPlan& plan, MemberNodes& nodes,
                           TrainingSession& session) {
  const MemberState& self = nodes.first_self();
  std::optional<EndOfRun> end;
  const auto has_model = [&] { return end && self.has_state && self.step == end->last.step; };
  for (int tries = 0; !plan.in_stages() && tries < kMostFetches && !session.interrupted(); ++tries) {
    end = ask_for_end(grid);
    if (!end) break;
    if (!has_model()) fetch_state(grid, plan, nodes, session);
    if (has_model()) break;
  }
  grid.views().leave();
  grid.serve({});
  if (!has_model())
    throw RunError(fmt::format("the run ended after step {}, before this member was admitted; {}", step,
                               plan.in_stages() ? "no single member has the whole model, which is in stages"
                                                : "the members that have its model are gone"));
  session.notice(
      fmt::format("the run ended after step {}, before this member was admitted; the final model is here",
                  end->last.step));
  return *end;
}

}  // namespace veche
