#include "cli/grid/grid_run.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/process/interrupt.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/train/run_table.h"
#include "veche/comm/grid/grid.h"
#include "veche/errors.h"
#include "veche/runtime/record/summary.h"
#include "veche/runtime/run/grid_member_run.h"

namespace veche::cli {
namespace {

constexpr int kLeft = 130;  // what shells expect of a program that ended on Ctrl-C

int told(const GridArguments& arguments, const RunResult& result) {
  if (arguments.json) answer_json(summary(result));
  flush_output();
  if (result.last.stopped == StopReason::interrupted) {
    tell("\nLeft {}; {}. Come back with:\n  veche grid join --resume {}\n",
         result.last.step == 0 ? "before the first step"
                               : fmt::format("after step {}, saved", result.last.step),
         result.others_continue ? "the others continue"
                                : "no other member takes part, so the run is suspended",
         result.info.folder.string());
    return kLeft;
  }
  if (!arguments.quiet) print_run(result);
  return 0;
}

// Prints the invitation on standard output, for a file or a pipe. With --json standard output holds
// the summary, and the invitation goes to standard error.
void give_invitation(const GridArguments& arguments, const std::string& invitation) {
  const grid::Terms terms;
  tell("Invitation for {} members, valid for {} hours, for `veche grid join`:\n", terms.uses,
       std::chrono::duration_cast<std::chrono::hours>(terms.valid).count());
  if (arguments.json)
    tell("{}\n", invitation);
  else
    answer("{}\n", invitation);
  flush_output();
}

int take_part(const GridArguments& arguments) {
  const Interrupts interrupts;
  ProgressView view(arguments.quiet);
  Config config = arguments.config.empty() ? Config{} : Config::from_file(arguments.config);
  for (const std::string& assignment : arguments.assignments) config.set(assignment);
  GridMemberRequest request{.config = std::move(config),
                            .resume = arguments.resume,
                            .observer = &view,
                            .interrupted = &interrupts.asked()};
  if (!arguments.invitation.empty()) request.membership.invitation = arguments.invitation;
  request.membership.force = arguments.force;
  request.membership.on_invitation = [&](const std::string& line) { give_invitation(arguments, line); };
  GridMemberRun member(std::move(request));
  return told(arguments, member.run());
}

}  // namespace

int run_grid_start(const GridArguments& arguments) { return take_part(arguments); }

int run_grid_join(const GridArguments& arguments) {
  if (arguments.resume.empty() && arguments.invitation.empty())
    throw RequestError("give the invitation that a member has made, or --resume RUN to come back");
  return take_part(arguments);
}

}  // namespace veche::cli
